"""Charts as data: one description of each kind, from which a painter draws for files and another for browsers."""
