// Clock gate: gated_clk has those pulses of clk before which enable was high.
//
// A model for simulation, and for synthesis where no better cell is known: put the clock gate of
// your library in its place, in a module of this name and these ports. enable comes late in a
// cycle, from logic; it counts as it is when clk rises. With T3_NO_CLOCK_GATING defined the clock is
// let through, as for an FPGA: the hardware does the same in every cycle.

module t3_clock_gate (
  input  wire clk,
  input  wire enable,
  output wire gated_clk
);
  // verilator coverage_off
`ifdef T3_NO_CLOCK_GATING
  assign gated_clk = clk;
`else
  // A latch that keeps its value while clk is high. What it has at power-up lets a reset through.
  reg open = 1'b1;
  always @*
    if (!clk) open = enable;
  assign gated_clk = clk & open;
`endif
endmodule
