"""A read-only page over the store of runs, with an HTTP API that documents itself."""
