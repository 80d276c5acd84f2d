"""Memory, drawn."""
