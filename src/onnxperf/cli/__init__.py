"""The command line: its table of commands, and what they share."""
