"""Charts drawn with matplotlib: one painter for each kind."""
