// Scheduler: selects a column command and a row command in every cycle, first-ready, first come
// first served.
//
// A row stays open while a request to it waits. Once the oldest request exceeds the age limit, its
// bank serves no other request, and its column command precedes all others. When a refresh is due,
// all banks are closed.
`include "t3_layouts.vh"
`include "dram_layouts.vh"

module scheduler #(
  parameter DEPTH = 16,
  parameter ATOM_BITS = 12,
  parameter ROW_BITS = 3
) (
  // Slots of the queue.
  input wire [DEPTH-1:0] valid,
  input wire [DEPTH-1:0] in_order,
  input wire [DEPTH-1:0] reads,
  input wire [DEPTH-1:0] acknowledged,
  input wire [DEPTH*ATOM_BITS-1:0] atoms,
  input wire [DEPTH*DEPTH-1:0] older,
  input wire [DEPTH-1:0] oldest,
  input wire starved,
  // Banks.
  input wire [`DRAM_BANKS-1:0] open,
  input wire [`DRAM_BANKS*ROW_BITS-1:0] open_rows,
  input wire [`DRAM_BANKS-1:0] may_activate,
  input wire [`DRAM_BANKS-1:0] may_precharge,
  input wire [`DRAM_BANKS-1:0] may_refresh,
  input wire [`DRAM_BANKS-1:0] may_read,
  input wire [`DRAM_BANKS-1:0] may_write,
  input wire refresh_due,
  input wire may_acknowledge,  // an issue acknowledgement has space
  // Commands of this cycle.
  output wire [DEPTH-1:0] column,  // of this slot's request
  output reg row_valid,
  output reg [`DRAM_ROW_COMMAND_BITS-1:0] row_command,
  output reg [`DRAM_BANK_BITS-1:0] row_bank,
  output reg [ROW_BITS-1:0] row_row
);
  wire [DEPTH-1:0] hit, column_ready, row_ready, row_slot;
  reg [`DRAM_BANKS-1:0] hit_banks;  // a request to the open row waits
  reg [`DRAM_BANK_BITS-1:0] oldest_bank;
  wire urgent = starved && (may_acknowledge || (oldest & acknowledged) == 0);
  wire oldest_hits = (oldest & hit) != 0;

  genvar number;
  generate
    for (number = 0; number < DEPTH; number = number + 1) begin : slot
      wire [ATOM_BITS-1:0] atom = atoms[ATOM_BITS*number+:ATOM_BITS];
      wire [`DRAM_BANK_BITS-1:0] bank = `DRAM_ATOM_BANK(atom);
      wire [ROW_BITS-1:0] row = atom[ATOM_BITS-1:`DRAM_ATOM_ROW_LOW];
      wire younger = urgent && !oldest[number];
      wire held = younger && bank == oldest_bank;
      assign hit[number] = valid[number] && open[bank]
          && open_rows[ROW_BITS*bank+:ROW_BITS] == row;
      assign column_ready[number] = hit[number] && in_order[number] && !refresh_due
          && (reads[number] ? may_read[bank] : may_write[bank])
          && (may_acknowledge || !acknowledged[number])
          && !held && !(younger && oldest_hits);
      wire closes = open[bank] && may_precharge[bank]
          && (!hit_banks[bank] || urgent && oldest[number] && !hit[number]);
      assign row_ready[number] = valid[number] && !held && (may_activate[bank] || closes);
    end
  endgenerate

  oldest_of #(
    .DEPTH(DEPTH)
  ) column_choice (
    .candidates(column_ready),
    .older(older),
    .chosen(column)
  );
  oldest_of #(
    .DEPTH(DEPTH)
  ) row_choice (
    .candidates(row_ready),
    .older(older),
    .chosen(row_slot)
  );

  integer index, chosen;
  reg [ATOM_BITS-1:0] atom_here, row_atom;
  always @* begin
    hit_banks = 0;
    oldest_bank = 0;
    for (index = 0; index < DEPTH; index = index + 1) begin
      atom_here = atoms[ATOM_BITS*index+:ATOM_BITS];
      if (hit[index]) hit_banks[`DRAM_ATOM_BANK(atom_here)] = 1;
      if (oldest[index]) oldest_bank = `DRAM_ATOM_BANK(atom_here);
    end
  end

  always @* begin
    row_atom = 0;
    for (chosen = 0; chosen < DEPTH; chosen = chosen + 1)
      if (row_slot[chosen]) row_atom = atoms[ATOM_BITS*chosen+:ATOM_BITS];
    row_bank = `DRAM_ATOM_BANK(row_atom);
    row_row = row_atom[ATOM_BITS-1:`DRAM_ATOM_ROW_LOW];
    if (refresh_due) begin
      row_valid = open != 0 ? (open & ~may_precharge) == 0 : &may_refresh;
      row_command = open != 0 ? `DRAM_PRECHARGE_ALL : `DRAM_REFRESH;
    end else begin
      row_valid = row_slot != 0;
      row_command = open[row_bank] ? `DRAM_PRECHARGE : `DRAM_ACTIVATE;
    end
  end
endmodule
