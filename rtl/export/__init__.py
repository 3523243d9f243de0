"""Verilog of the hardware for those who build it in, and what they need beside it."""
