// Clock gate: gated_clk has a pulse for each pulse of clk before which enable was high.
//
// This is a model for simulation, and for synthesis without a clock-gate cell. Replace it by the
// clock gate of your library, in a module of the same name and ports. enable comes from logic late
// in a cycle and is sampled as clk rises. With T3_NO_CLOCK_GATING defined the clock is not gated, as
// for an FPGA; the hardware behaves the same in every cycle.

module t3_clock_gate (
  input  wire clk,
  input  wire enable,
  output wire gated_clk
);
  // verilator coverage_off
`ifdef T3_NO_CLOCK_GATING
  assign gated_clk = clk;
`else
  // A latch that holds its value while clk is high. It is open at power-up, so that a reset passes.
  reg open = 1'b1;
  always @*
    if (!clk) open = enable;
  assign gated_clk = clk & open;
`endif
endmodule
