"""What would make a model faster, as pages and charts."""
