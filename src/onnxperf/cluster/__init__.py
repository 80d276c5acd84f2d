"""Jobs on the nodes of a cluster, one at a time on each: what they compute is not known here."""
