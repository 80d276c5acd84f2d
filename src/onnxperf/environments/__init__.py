"""Other interpreters for workers: which are wanted, how they are built, and where they are kept."""
