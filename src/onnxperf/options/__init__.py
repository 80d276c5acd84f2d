"""Every option, declared once: its keyword, its flag, its default, its help, and how a text becomes its value."""
