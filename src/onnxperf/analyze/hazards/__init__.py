"""Hazards: patterns known to cost time or memory, one file each; start with `base`."""
