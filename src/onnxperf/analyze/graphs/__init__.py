"""Nodes of the original graph and of the executed one: which belong together, what is alive, what they cost."""
