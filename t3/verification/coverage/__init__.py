"""What of the exported Verilog the benches run through."""
