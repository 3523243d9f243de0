"""Studies built on the model."""
