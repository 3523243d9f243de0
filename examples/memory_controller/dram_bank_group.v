// DRAM bank group: the delays that its commands impose on its next commands.
module dram_bank_group #(
  parameter [9:0] tCCD_L = 0, tCCD_WL = 0, tRRD_L = 0, WRITE_TO_READ = 0, UPDATE_TO_READ = 0
) (
  input wire clk,
  input wire rst,
  // Commands to this bank group in this cycle.
  input wire activate,
  input wire read,
  input wire write,
  input wire update,
  output wire may_activate,
  output wire may_read,
  output wire may_write
);
  wire column_over, read_over;
  assign may_read = column_over && read_over;
  assign may_write = column_over;

  gap before_activate (
    .clk(clk),
    .rst(rst),
    .load(activate),
    .clocks(tRRD_L),
    .over(may_activate)
  );
  // An update reads, reduces and writes: its bank group is busy for twice as long.
  gap before_column (
    .clk(clk),
    .rst(rst),
    .load(read | write | update),
    .clocks(update ? tCCD_WL : tCCD_L),
    .over(column_over)
  );
  gap before_read (
    .clk(clk),
    .rst(rst),
    .load(write | update),
    .clocks(update ? UPDATE_TO_READ : WRITE_TO_READ),
    .over(read_over)
  );
endmodule
