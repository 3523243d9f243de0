"""What the hardware costs in a standard-cell library: area and critical paths."""
