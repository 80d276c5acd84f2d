"""Frozen records that pass between the rooms: measured, concluded or requested; written as JSON where versioned."""
