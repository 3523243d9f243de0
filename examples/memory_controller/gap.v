// Timer of the clocks until a command is allowed: the longest delay after earlier commands.
module gap (
  input wire clk,
  input wire rst,
  input wire load,          // a command in this cycle imposes a delay
  input wire [9:0] clocks,  // of this length
  output wire over
);
  reg [9:0] left;
  assign over = left == 0;

  always @(posedge clk)
    if (rst) left <= 0;
    else if (load && clocks > left) left <= clocks - 1'b1;
    else if (!over) left <= left - 1'b1;
endmodule
