// Delay line: the output is the input of a fixed number of clocks before, and 0 without valid
// input.
module delay_line #(
  parameter BITS = 1,
  parameter CLOCKS = 2  // at least 2
) (
  input wire clk,
  input wire rst,
  input wire in_valid,
  input wire [BITS-1:0] in,
  output wire out_valid,
  output wire [BITS-1:0] out
);
  reg [CLOCKS-1:0] valids;
  reg [BITS-1:0] ring [0:CLOCKS-1];
  reg [$clog2(CLOCKS)-1:0] turn;
  assign out_valid = valids[CLOCKS-1];
  assign out = out_valid ? ring[turn] : {BITS{1'b0}};

  always @(posedge clk) begin
    ring[turn] <= in;
    turn <= turn == CLOCKS - 1 ? {$clog2(CLOCKS) {1'b0}} : turn + 1'b1;
    valids <= {valids[CLOCKS-2:0], in_valid};
    if (rst) begin
      turn <= 0;
      valids <= 0;
    end
  end
endmodule
