"""What is decided: verdicts, winners, agreement, growth and how a run ended."""
