"""Results as one HTML page: a story of sections, with charts that need no network."""
