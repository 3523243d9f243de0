"""Today's models on today's GPUs."""
