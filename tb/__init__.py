"""Cocotb benches of the Verilog."""
