"""Code that runs inside a worker: the request loop and the request handlers."""
