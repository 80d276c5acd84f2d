"""The machine: its description, load, noise and peak performance."""
