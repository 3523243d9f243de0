"""Links between GPUs."""
