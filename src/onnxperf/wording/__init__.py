"""How numbers, sizes and names are written: the only place that formats a number."""
