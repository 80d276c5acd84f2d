"""All options, declared once: keyword, flag, default, help text, and parser."""
