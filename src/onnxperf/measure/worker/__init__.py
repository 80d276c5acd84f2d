"""What runs inside a worker: the loop that answers requests, and the functions that do."""
