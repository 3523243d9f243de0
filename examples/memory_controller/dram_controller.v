// Controller of one DRAM channel behind T3: queue, scheduler, timing, refresh and data path.
// Commands leave from registers, one clock after the scheduler selects them.
`include "t3_layouts.vh"
`include "dram_layouts.vh"
`include "dram_standard.vh"

module dram_controller #(
  parameter DEPTH = 16,
  parameter ATOM_BITS = 12,             // of the installed memory
  parameter ROW_BITS = ATOM_BITS - `DRAM_ATOM_ROW_LOW,
  parameter [11:0] AGE_LIMIT = 12'd1000 // clocks after which the oldest request goes first
) (
  input wire clk,
  input wire rst,
  // Requests from T3.
  input wire [`T3_DRAM_BITS-1:0] dram__payload,
  input wire dram__valid,
  output wire dram__ready,
  output wire [`T3_OCCUPANCY_BITS-1:0] occupancy,
  // Issue acknowledgements to T3.
  output reg [`T3_ISSUE_ACKS_BITS-1:0] issue_acks__payload,
  output reg issue_acks__valid,
  input wire issue_acks__ready,
  // Data of T3's own reads.
  output wire [`T3_RETURNS_BITS-1:0] returns__payload,
  output wire returns__valid,
  // An acknowledgement or the data of a read are still to come, also of requests from before a
  // reset of T3 alone.
  output wire memory_owes,
  // Data of the compute units' reads, and acknowledgement of issued ordinary writes to the L2.
  output wire [`T3_DRAM_DATA_BITS-1:0] read_data,
  output wire [`T3_READS_TAG_BITS-1:0] read_tag,
  output wire read_valid,
  output reg [`T3_DRAM_ATOM_BITS-1:0] written_atom,
  output reg written_valid,
  // T3's reduce unit.
  output wire [`T3_NMC_IN_BITS-1:0] nmc_in__payload,
  output wire nmc_in__valid,
  // DRAM: commands, and data at their times after the commands.
  output reg row_valid,
  output reg [`DRAM_ROW_COMMAND_BITS-1:0] row_command,
  output reg [`DRAM_BANK_BITS-1:0] row_bank,
  output reg [ROW_BITS-1:0] row_row,
  output reg column_valid,
  output reg [`T3_DRAM_ACCESS_BITS-1:0] column_access,
  output reg [`DRAM_BANK_BITS-1:0] column_bank,
  output reg [`DRAM_COLUMN_BITS-1:0] column_column,
  output wire [`DRAM_WORD_BITS-1:0] write_word,
  input wire [`DRAM_WORD_BITS-1:0] read_word,
  input wire [`DRAM_WORD_BITS-1:0] stored_word
);
  wire [DEPTH-1:0] valid, in_order, reads, acknowledged, oldest, take;
  wire [DEPTH*ATOM_BITS-1:0] atoms;
  wire [DEPTH*DEPTH-1:0] older;
  wire starved;
  wire [`T3_DRAM_BITS-1:0] taken;
  request_queue #(
    .DEPTH(DEPTH),
    .ATOM_BITS(ATOM_BITS),
    .AGE_LIMIT(AGE_LIMIT)
  ) request_queue (
    .clk(clk),
    .rst(rst),
    .request(dram__payload),
    .request_valid(dram__valid),
    .request_ready(dram__ready),
    .occupancy(occupancy),
    .valid(valid),
    .in_order(in_order),
    .reads(reads),
    .acknowledged(acknowledged),
    .atoms(atoms),
    .older(older),
    .oldest(oldest),
    .starved(starved),
    .take(take),
    .taken(taken)
  );

  wire next_row_valid, next_column_valid, refresh_due;
  wire [`DRAM_ROW_COMMAND_BITS-1:0] next_row_command;
  wire [`DRAM_BANK_BITS-1:0] next_row_bank, next_column_bank;
  wire [ROW_BITS-1:0] next_row_row;
  wire [`T3_DRAM_ATOM_BITS-1:0] taken_atom = taken[`T3_DRAM_ATOM];
  wire [`T3_DRAM_ACCESS_BITS-1:0] taken_access = taken[`T3_DRAM_ACCESS];
  assign next_column_valid = take != 0;
  assign next_column_bank = `DRAM_ATOM_BANK(taken_atom);

  wire [`DRAM_BANKS-1:0] open, may_activate, may_precharge, may_refresh, may_read, may_write;
  wire [`DRAM_BANKS*ROW_BITS-1:0] open_rows;
  dram_timing #(
    .ROW_BITS(ROW_BITS),
    .tCCD_S(`DRAM_tCCD_S),
    .tCCD_L(`DRAM_tCCD_L),
    .tCCD_WL(`DRAM_tCCD_WL),
    .tRRD_S(`DRAM_tRRD_S),
    .tRRD_L(`DRAM_tRRD_L),
    .tFAW(`DRAM_tFAW),
    .tACT(`DRAM_tACT),
    .tRCD_RD(`DRAM_tRCD_RD),
    .tRCD_WR(`DRAM_tRCD_WR),
    .tRAS(`DRAM_tRAS),
    .tRC(`DRAM_tRC),
    .tRP(`DRAM_tRP),
    .tCWL(`DRAM_tCWL),
    .tBURST(`DRAM_tBURST),
    .tRTW(`DRAM_tRTW),
    .tWTR_S(`DRAM_tWTR_S),
    .tWTR_L(`DRAM_tWTR_L),
    .tRTP(`DRAM_tRTP),
    .tWR(`DRAM_tWR),
    .tRFC(`DRAM_tRFC)
  ) timing (
    .clk(clk),
    .rst(rst),
    .row_valid(next_row_valid),
    .row_command(next_row_command),
    .row_bank(next_row_bank),
    .row_row(next_row_row),
    .column_valid(next_column_valid),
    .column_access(taken_access),
    .column_bank(next_column_bank),
    .open(open),
    .open_rows(open_rows),
    .may_activate(may_activate),
    .may_precharge(may_precharge),
    .may_refresh(may_refresh),
    .may_read(may_read),
    .may_write(may_write)
  );

  refresh #(
    .tREFI(`DRAM_tREFI)
  ) refresh (
    .clk(clk),
    .rst(rst),
    .issued(next_row_valid && next_row_command == `DRAM_REFRESH),
    .due(refresh_due)
  );

  scheduler #(
    .DEPTH(DEPTH),
    .ATOM_BITS(ATOM_BITS),
    .ROW_BITS(ROW_BITS)
  ) scheduler (
    .valid(valid),
    .in_order(in_order),
    .reads(reads),
    .acknowledged(acknowledged),
    .atoms(atoms),
    .older(older),
    .oldest(oldest),
    .starved(starved),
    .open(open),
    .open_rows(open_rows),
    .may_activate(may_activate),
    .may_precharge(may_precharge),
    .may_refresh(may_refresh),
    .may_read(may_read),
    .may_write(may_write),
    .refresh_due(refresh_due),
    .may_acknowledge(!issue_acks__valid || issue_acks__ready),
    .column(take),
    .row_valid(next_row_valid),
    .row_command(next_row_command),
    .row_bank(next_row_bank),
    .row_row(next_row_row)
  );

  reg [`T3_DRAM_BITS-1:0] issued;
  data_path #(
    .READ_CLOCKS(`DRAM_tCL + `DRAM_tBURST),
    .WRITE_CLOCKS(`DRAM_tCWL + `DRAM_tBURST)
  ) data_path (
    .clk(clk),
    .rst(rst),
    .issued_valid(column_valid),
    .issued(issued),
    .read_word(read_word),
    .stored_word(stored_word),
    .write_word(write_word),
    .returns__payload(returns__payload),
    .returns__valid(returns__valid),
    .read_data(read_data),
    .read_tag(read_tag),
    .read_valid(read_valid),
    .nmc_in__payload(nmc_in__payload),
    .nmc_in__valid(nmc_in__valid)
  );

  always @(posedge clk) begin
    row_valid <= next_row_valid;
    row_command <= next_row_command;
    row_bank <= next_row_bank;
    row_row <= next_row_row;
    column_valid <= next_column_valid;
    column_access <= taken_access;
    column_bank <= next_column_bank;
    column_column <= `DRAM_ATOM_COLUMN(taken_atom);
    issued <= taken;

    written_valid <= next_column_valid && taken_access == `T3_ACCESS_WRITE
        && (take & acknowledged) == 0;
    written_atom <= taken_atom;
    if (issue_acks__ready) issue_acks__valid <= 0;
    if ((take & acknowledged) != 0) begin
      issue_acks__valid <= 1;
      issue_acks__payload[`T3_ISSUE_ACKS_ACCESS] <= taken_access;
      issue_acks__payload[`T3_ISSUE_ACKS_ATOM] <= taken_atom;
      issue_acks__payload[`T3_ISSUE_ACKS_OWNER] <= taken[`T3_DRAM_OWNER];
      issue_acks__payload[`T3_ISSUE_ACKS_DISPATCH_INDEX] <= taken[`T3_DRAM_DISPATCH_INDEX];
      issue_acks__payload[`T3_ISSUE_ACKS_WAVEFRONT] <= taken[`T3_DRAM_WAVEFRONT];
    end

    if (rst) begin
      row_valid <= 0;
      column_valid <= 0;
      issued <= 0;
      written_valid <= 0;
      issue_acks__valid <= 0;
      issue_acks__payload <= 0;
    end
  end

  // Answers to requests of T3 that are still to come: acknowledgements, returns and reduce requests.
  wire is_update = dram__payload[`T3_DRAM_ACCESS] == `T3_ACCESS_UPDATE;
  wire is_of_t3 = dram__payload[`T3_DRAM_ORIGIN] == `T3_ORIGIN_COMMUNICATION;
  wire takes = dram__valid && dram__ready;
  wire begins = takes && (is_update || is_of_t3);
  wire begins_update = takes && is_update;
  wire acknowledges = issue_acks__valid && issue_acks__ready;
  reg [7:0] owed;
  assign memory_owes = owed != 0;
  always @(posedge clk)
    if (rst) owed <= 0;
    else owed <= owed + begins + begins_update - acknowledges - returns__valid - nmc_in__valid;
endmodule
