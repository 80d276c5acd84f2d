"""Search for where something changes: proposes the next comparison and tracks the answers."""
