"""What of the Verilog the benches run through."""
