"""Hazards: what is known to cost time or memory, one file each; `base` first."""
