"""Rewrites of a model that may make it faster, one per file; see `base` first, and `find` for their names."""
