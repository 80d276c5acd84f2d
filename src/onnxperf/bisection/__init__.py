"""Where something changes: proposes what to compare next, and keeps what the answers mean."""
