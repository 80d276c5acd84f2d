"""Default time limit of a step; separate from the records because help texts show it too."""

TIMEOUT_S = 300.0
"""Maximum seconds for loading a model, a block of calls, or a conversion."""
