"""How long steps may take unless requested otherwise; apart from the records, because help texts show it, too."""

STEP_TIMEOUT_S = 120.0
"""For a step of a race: loading a model, a block of calls."""
LONG_TIMEOUT_S = 600.0
"""For a step of everything else: a conversion, a profile, all calls of a stack."""
