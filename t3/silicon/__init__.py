"""Cost of the hardware in a standard-cell library: area and critical paths."""
