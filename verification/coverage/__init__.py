"""Coverage of the Verilog by the benches."""
