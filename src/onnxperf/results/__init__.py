"""Thin views on records."""
