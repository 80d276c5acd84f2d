"""Results as one HTML page of sections, with charts that need no network."""
