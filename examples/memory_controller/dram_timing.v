// DRAM timing: the commands allowed for each bank in this cycle, and the open row of each bank.
`include "t3_layouts.vh"
`include "dram_layouts.vh"

module dram_timing #(
  parameter ROW_BITS = 3,
  parameter [9:0] tCCD_S = 0, tCCD_L = 0, tCCD_WL = 0, tRRD_S = 0, tRRD_L = 0, tFAW = 0, tACT = 0,
  parameter [9:0] tRCD_RD = 0, tRCD_WR = 0, tRAS = 0, tRC = 0, tRP = 0, tCWL = 0, tBURST = 0,
  parameter [9:0] tRTW = 0, tWTR_S = 0, tWTR_L = 0, tRTP = 0, tWR = 0, tRFC = 0
) (
  input wire clk,
  input wire rst,
  // Commands of this cycle.
  input wire row_valid,
  input wire [`DRAM_ROW_COMMAND_BITS-1:0] row_command,
  input wire [`DRAM_BANK_BITS-1:0] row_bank,
  input wire [ROW_BITS-1:0] row_row,
  input wire column_valid,
  input wire [`T3_DRAM_ACCESS_BITS-1:0] column_access,
  input wire [`DRAM_BANK_BITS-1:0] column_bank,
  // One bit per bank.
  output wire [`DRAM_BANKS-1:0] open,
  output wire [`DRAM_BANKS*ROW_BITS-1:0] open_rows,
  output wire [`DRAM_BANKS-1:0] may_activate,
  output wire [`DRAM_BANKS-1:0] may_precharge,
  output wire [`DRAM_BANKS-1:0] may_refresh,
  output wire [`DRAM_BANKS-1:0] may_read,
  output wire [`DRAM_BANKS-1:0] may_write
);
  // Clocks after the command. The result of an update is stored later by the time for which its
  // bank group is busy longer.
  localparam [9:0] WRITE_END = tCWL + tBURST;
  localparam [9:0] UPDATE_END = WRITE_END + tCCD_WL - tCCD_L;

  wire activate = row_valid && row_command == `DRAM_ACTIVATE;
  wire precharge = row_valid && row_command == `DRAM_PRECHARGE;
  wire precharge_all = row_valid && row_command == `DRAM_PRECHARGE_ALL;
  wire refresh = row_valid && row_command == `DRAM_REFRESH;
  wire read = column_valid && column_access == `T3_ACCESS_READ;
  wire write = column_valid && column_access == `T3_ACCESS_WRITE;
  wire update = column_valid && column_access == `T3_ACCESS_UPDATE;

  wire buses_command_row, buses_activate, buses_read, buses_write;
  wire [`DRAM_GROUPS-1:0] group_activate, group_read, group_write;
  wire [`DRAM_BANKS-1:0] bank_activate, bank_precharge, bank_read, bank_write;
  assign may_precharge = {`DRAM_BANKS{buses_command_row}} & bank_precharge;
  assign may_refresh = {`DRAM_BANKS{buses_command_row}} & bank_activate;
  assign may_activate = {`DRAM_BANKS{buses_activate}} & {`DRAM_BANKS / `DRAM_GROUPS{group_activate}}
      & bank_activate;
  assign may_read = {`DRAM_BANKS{buses_read}} & {`DRAM_BANKS / `DRAM_GROUPS{group_read}} & bank_read;
  assign may_write = {`DRAM_BANKS{buses_write}} & {`DRAM_BANKS / `DRAM_GROUPS{group_write}}
      & bank_write;

  dram_buses #(
    .tCCD_S(tCCD_S),
    .tRRD_S(tRRD_S),
    .tFAW(tFAW),
    .tACT(tACT),
    .tRTW(tRTW),
    .WRITE_TO_READ(WRITE_END + tWTR_S),
    .UPDATE_TO_READ(UPDATE_END + tWTR_S)
  ) buses (
    .clk(clk),
    .rst(rst),
    .activate(activate),
    .read(read),
    .write(write),
    .update(update),
    .may_command_row(buses_command_row),
    .may_activate(buses_activate),
    .may_read(buses_read),
    .may_write(buses_write)
  );

  genvar number;
  generate
    for (number = 0; number < `DRAM_GROUPS; number = number + 1) begin : group
      wire row_here = row_bank[1:0] == number;
      wire column_here = column_bank[1:0] == number;
      dram_bank_group #(
        .tCCD_L(tCCD_L),
        .tCCD_WL(tCCD_WL),
        .tRRD_L(tRRD_L),
        .WRITE_TO_READ(WRITE_END + tWTR_L),
        .UPDATE_TO_READ(UPDATE_END + tWTR_L)
      ) unit (
        .clk(clk),
        .rst(rst),
        .activate(activate && row_here),
        .read(read && column_here),
        .write(write && column_here),
        .update(update && column_here),
        .may_activate(group_activate[number]),
        .may_read(group_read[number]),
        .may_write(group_write[number])
      );
    end
    for (number = 0; number < `DRAM_BANKS; number = number + 1) begin : bank
      wire row_here = row_bank == number;
      wire column_here = column_bank == number;
      dram_bank #(
        .ROW_BITS(ROW_BITS),
        .tRCD_RD(tRCD_RD),
        .tRCD_WR(tRCD_WR),
        .tRAS(tRAS),
        .tRC(tRC),
        .tRP(tRP),
        .tRTP(tRTP),
        .tRFC(tRFC),
        .WRITE_TO_PRECHARGE(WRITE_END + tWR),
        .UPDATE_TO_PRECHARGE(UPDATE_END + tWR)
      ) unit (
        .clk(clk),
        .rst(rst),
        .activate(activate && row_here),
        .row(row_row),
        .precharge(precharge && row_here || precharge_all),
        .refresh(refresh),
        .read(read && column_here),
        .write(write && column_here),
        .update(update && column_here),
        .open(open[number]),
        .open_row(open_rows[ROW_BITS*number+:ROW_BITS]),
        .may_activate(bank_activate[number]),
        .may_precharge(bank_precharge[number]),
        .may_read(bank_read[number]),
        .may_write(bank_write[number])
      );
    end
  endgenerate
endmodule
