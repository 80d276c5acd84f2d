"""Rewrites of a model that may make it faster, one file each; `base` first, `find` has their names."""
