"""Judgments: verdicts, winners, agreement, growth and the outcome of runs."""
