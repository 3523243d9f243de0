"""Export of the hardware as Verilog, with headers, documents and a self test."""
