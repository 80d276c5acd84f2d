"""Where all this happens."""
