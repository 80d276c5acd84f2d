"""From whatever came in to a model with a signature and inputs."""
