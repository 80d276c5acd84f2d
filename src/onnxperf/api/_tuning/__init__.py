"""Ways to run a model that may be faster: tried, and judged by the race."""
