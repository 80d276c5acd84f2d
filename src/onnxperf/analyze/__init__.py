"""Pure functions from records to records."""
