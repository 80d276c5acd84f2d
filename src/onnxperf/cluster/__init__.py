"""Jobs on the nodes of a cluster, one at a time on each; this package does not depend on what they compute."""
