// Clocks that must still pass before a command: the most that an earlier one asked for.
module gap (
  input wire clk,
  input wire rst,
  input wire load,          // a command in this cycle asks
  input wire [9:0] clocks,  // for as many from itself to the next
  output wire over
);
  reg [9:0] left;
  assign over = left == 0;

  always @(posedge clk)
    if (rst) left <= 0;
    else if (load && clocks > left) left <= clocks - 1'b1;
    else if (!over) left <= left - 1'b1;
endmodule
