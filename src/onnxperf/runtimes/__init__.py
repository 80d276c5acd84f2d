"""What can execute a model."""
