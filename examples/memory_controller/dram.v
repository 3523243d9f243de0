// Model of the DRAM behind the controller. A column command accesses the open row. The data of a
// burst are transferred at once, at its end. An update then reads the atom, and stores the result
// of the reduce unit.
`include "t3_layouts.vh"
`include "dram_layouts.vh"
`include "dram_standard.vh"

module dram #(
  parameter ATOM_BITS = 12,
  parameter ROW_BITS = ATOM_BITS - `DRAM_ATOM_ROW_LOW
) (
  input wire clk,
  input wire rst,
  input wire row_valid,
  input wire [`DRAM_ROW_COMMAND_BITS-1:0] row_command,
  input wire [`DRAM_BANK_BITS-1:0] row_bank,
  input wire [ROW_BITS-1:0] row_row,
  input wire column_valid,
  input wire [`T3_DRAM_ACCESS_BITS-1:0] column_access,
  input wire [`DRAM_BANK_BITS-1:0] column_bank,
  input wire [`DRAM_COLUMN_BITS-1:0] column_column,
  input wire [`DRAM_WORD_BITS-1:0] write_word,
  output wire [`DRAM_WORD_BITS-1:0] read_word,
  output wire [`DRAM_WORD_BITS-1:0] stored_word,
  input wire [`T3_NMC_OUT_BITS-1:0] nmc_out__payload,
  input wire nmc_out__valid
);
  reg [`DRAM_WORD_BITS-1:0] words [0:(1 << ATOM_BITS) - 1];
  reg [ROW_BITS-1:0] open_row [0:`DRAM_BANKS-1];
  wire [ATOM_BITS-1:0] place = {open_row[column_bank], column_bank, column_column};

  wire [ATOM_BITS-1:0] read_place, write_place;
  wire write_due, is_update;
  delay_line #(
    .BITS(ATOM_BITS),
    .CLOCKS(`DRAM_tCL + `DRAM_tBURST)
  ) reads (
    .clk(clk),
    .rst(rst),
    .in_valid(column_valid && column_access == `T3_ACCESS_READ),
    .in(place),
    .out_valid(),
    .out(read_place)
  );
  delay_line #(
    .BITS(1 + ATOM_BITS),
    .CLOCKS(`DRAM_tCWL + `DRAM_tBURST)
  ) writes (
    .clk(clk),
    .rst(rst),
    .in_valid(column_valid && column_access != `T3_ACCESS_READ),
    .in({column_access == `T3_ACCESS_UPDATE, place}),
    .out_valid(write_due),
    .out({is_update, write_place})
  );
  assign read_word = words[read_place];
  assign stored_word = words[write_place];

  // Addresses of the updates in the reduce unit.
  reg [ATOM_BITS-1:0] updated [0:7];
  reg [2:0] head, tail;
  integer index;

  initial
    for (index = 0; index < 1 << ATOM_BITS; index = index + 1) begin
      words[index] = 0;
      words[index][`DRAM_WORD_DATA] = {8{32'hdeadbeef}};  // data of an earlier kernel
    end

  always @(posedge clk) begin
    if (row_valid && row_command == `DRAM_ACTIVATE) open_row[row_bank] <= row_row;
    if (write_due && !is_update) words[write_place] <= write_word;
    if (write_due && is_update) begin
      updated[tail] <= write_place;
      tail <= tail + 1'b1;
    end
    if (nmc_out__valid) begin
      words[updated[head]] <= nmc_out__payload;
      head <= head + 1'b1;
    end
    if (rst) begin
      head <= 0;
      tail <= 0;
      for (index = 0; index < `DRAM_BANKS; index = index + 1) open_row[index] <= 0;
    end
  end
endmodule
