"""Cocotb benches of the exported Verilog."""
