"""Other interpreters for workers: how they are requested, built and stored."""
