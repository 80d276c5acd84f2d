"""Console, pictures and files; never measures."""
