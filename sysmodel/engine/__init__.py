"""T3 hardware in the loop: the compiled RTL, or the golden model."""
