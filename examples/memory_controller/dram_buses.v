// Resources shared by all banks: the buses of row commands, column commands and data, and the
// supply current, which limits activations.
module dram_buses #(
  parameter [9:0] tCCD_S = 0, tRRD_S = 0, tFAW = 0, tACT = 0, tRTW = 0,
  parameter [9:0] WRITE_TO_READ = 0, UPDATE_TO_READ = 0
) (
  input wire clk,
  input wire rst,
  // Commands in this cycle.
  input wire activate,
  input wire read,
  input wire write,
  input wire update,
  output wire may_command_row,
  output wire may_activate,
  output wire may_read,
  output wire may_write
);
  wire column_over, read_over, write_over, activate_over;
  wire [3:0] four_over;
  reg [3:0] turn;  // index of the oldest of the last four ACTIVATEs
  assign may_activate = may_command_row && activate_over && (turn & ~four_over) == 0;
  assign may_read = column_over && read_over;
  assign may_write = column_over && write_over;

  gap before_row (
    .clk(clk),
    .rst(rst),
    .load(activate),
    .clocks(tACT),
    .over(may_command_row)
  );
  gap before_activate (
    .clk(clk),
    .rst(rst),
    .load(activate),
    .clocks(tRRD_S),
    .over(activate_over)
  );
  gap before_column (
    .clk(clk),
    .rst(rst),
    .load(read | write | update),
    .clocks(tCCD_S),
    .over(column_over)
  );
  gap before_read (
    .clk(clk),
    .rst(rst),
    .load(write | update),
    .clocks(update ? UPDATE_TO_READ : WRITE_TO_READ),
    .over(read_over)
  );
  gap before_write (
    .clk(clk),
    .rst(rst),
    .load(read),
    .clocks(tRTW),
    .over(write_over)
  );

  genvar number;
  generate
    for (number = 0; number < 4; number = number + 1) begin : four
      gap window (
        .clk(clk),
        .rst(rst),
        .load(activate & turn[number]),
        .clocks(tFAW),
        .over(four_over[number])
      );
    end
  endgenerate

  always @(posedge clk)
    if (rst) turn <= 1;
    else if (activate) turn <= {turn[2:0], turn[3]};
endmodule
