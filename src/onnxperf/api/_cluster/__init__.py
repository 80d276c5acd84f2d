"""Cases on the nodes of a cluster: where, how they travel, and what comes back."""
