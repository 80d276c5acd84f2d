"""What the public functions share."""
