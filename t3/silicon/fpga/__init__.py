"""The hardware on an FPGA: packed, placed and routed."""
