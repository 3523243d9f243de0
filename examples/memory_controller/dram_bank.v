// DRAM bank: its open row, and the delays that its commands impose on its next commands.
module dram_bank #(
  parameter ROW_BITS = 3,
  parameter [9:0] tRCD_RD = 0, tRCD_WR = 0, tRAS = 0, tRC = 0, tRP = 0, tRTP = 0, tRFC = 0,
  parameter [9:0] WRITE_TO_PRECHARGE = 0, UPDATE_TO_PRECHARGE = 0
) (
  input wire clk,
  input wire rst,
  // Commands to this bank in this cycle.
  input wire activate,
  input wire [ROW_BITS-1:0] row,
  input wire precharge,
  input wire refresh,
  input wire read,
  input wire write,
  input wire update,
  output reg open,
  output reg [ROW_BITS-1:0] open_row,
  output wire may_activate,
  output wire may_precharge,
  output wire may_read,
  output wire may_write
);
  wire activate_over, precharge_over, read_over, write_over;
  assign may_activate = !open && activate_over;
  assign may_precharge = precharge_over;
  assign may_read = open && read_over;
  assign may_write = open && write_over;

  gap before_activate (
    .clk(clk),
    .rst(rst),
    .load(activate | precharge | refresh),
    .clocks(refresh ? tRFC : precharge ? tRP : tRC),
    .over(activate_over)
  );
  gap before_precharge (
    .clk(clk),
    .rst(rst),
    .load(activate | read | write | update),
    .clocks(activate ? tRAS : read ? tRTP : update ? UPDATE_TO_PRECHARGE : WRITE_TO_PRECHARGE),
    .over(precharge_over)
  );
  gap before_read (
    .clk(clk),
    .rst(rst),
    .load(activate),
    .clocks(tRCD_RD),
    .over(read_over)
  );
  gap before_write (
    .clk(clk),
    .rst(rst),
    .load(activate),
    .clocks(tRCD_WR),
    .over(write_over)
  );

  always @(posedge clk)
    if (rst) begin
      open <= 0;
      open_row <= 0;
    end else begin
      if (precharge) open <= 0;
      if (activate) begin
        open <= 1;
        open_row <= row;
      end
    end
endmodule
