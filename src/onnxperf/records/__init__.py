"""Immutable records shared by all parts: measurements, conclusions and requests. Versioned ones are written as JSON."""
