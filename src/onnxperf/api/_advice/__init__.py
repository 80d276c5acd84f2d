"""What `advise` knows of a model before it tries remedies, and their trials."""
