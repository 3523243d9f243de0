"""Synthesis, placement and routing of the hardware for an FPGA."""
