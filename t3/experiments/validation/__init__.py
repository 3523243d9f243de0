"""Validation of the model against other simulators, closed forms and GPUs."""
