"""How `onnxperf.bisect` compares: rows of candidates, parts of a graph, and what is measured of them."""
