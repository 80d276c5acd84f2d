"""Proposes candidates that may make a model faster, and schedules their races; the races decide."""
