"""What a page shows of a record, one file per kind."""
