"""Measurements of real GPUs beside the model, and the fit of a system to them."""
