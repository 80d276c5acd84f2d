"""How long a step may take unless requested otherwise; apart from the records, because help texts show it, too."""

TIMEOUT_S = 300.0
"""For loading a model, a block of calls, a conversion."""
