"""Models of other frameworks: how they are detected, converted and called with numpy inputs."""
