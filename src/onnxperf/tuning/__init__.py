"""Proposes what may make a model faster, and who races whom for how long; the races judge."""
