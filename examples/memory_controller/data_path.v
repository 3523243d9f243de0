// Data path between issued requests and the DRAM. Data of writes and updates go to the DRAM, and
// data of reads come from it, a fixed number of clocks after the command. An update's stored atom
// and operand go to T3's reduce unit. Every write except an update clears the epoch.
`include "t3_layouts.vh"
`include "dram_layouts.vh"

module data_path #(
  parameter READ_CLOCKS = 2,  // from a command to its data
  parameter WRITE_CLOCKS = 2
) (
  input wire clk,
  input wire rst,
  input wire issued_valid,
  input wire [`T3_DRAM_BITS-1:0] issued,
  // Data of the DRAM, at their times after the commands.
  input wire [`DRAM_WORD_BITS-1:0] read_word,
  input wire [`DRAM_WORD_BITS-1:0] stored_word,  // stored word of an update
  output wire [`DRAM_WORD_BITS-1:0] write_word,
  // Data of T3's own reads, and of the compute units'.
  output reg [`T3_RETURNS_BITS-1:0] returns__payload,
  output reg returns__valid,
  output reg [`T3_DRAM_DATA_BITS-1:0] read_data,
  output reg [`T3_READS_TAG_BITS-1:0] read_tag,
  output reg read_valid,
  output reg [`T3_NMC_IN_BITS-1:0] nmc_in__payload,
  output wire nmc_in__valid
);
  wire is_read = issued[`T3_DRAM_ACCESS] == `T3_ACCESS_READ;

  wire read_due, read_origin;
  wire [`T3_DRAM_TAG_BITS-1:0] due_tag;
  delay_line #(
    .BITS(1 + `T3_DRAM_TAG_BITS),
    .CLOCKS(READ_CLOCKS)
  ) reads (
    .clk(clk),
    .rst(rst),
    .in_valid(issued_valid && is_read),
    .in({issued[`T3_DRAM_ORIGIN], issued[`T3_DRAM_TAG]}),
    .out_valid(read_due),
    .out({read_origin, due_tag})
  );

  localparam WRITE_BITS = `T3_DRAM_ACCESS_BITS + `T3_DRAM_OWNER_BITS + `T3_DRAM_OP_BITS
      + `T3_DRAM_DTYPE_BITS + `T3_DRAM_DATA_BITS;
  wire write_due;
  wire [`T3_DRAM_ACCESS_BITS-1:0] write_access;
  wire [`T3_DRAM_OWNER_BITS-1:0] owner;
  wire [`T3_DRAM_OP_BITS-1:0] op;
  wire [`T3_DRAM_DTYPE_BITS-1:0] dtype;
  wire [`T3_DRAM_DATA_BITS-1:0] operand;
  delay_line #(
    .BITS(WRITE_BITS),
    .CLOCKS(WRITE_CLOCKS)
  ) writes (
    .clk(clk),
    .rst(rst),
    .in_valid(issued_valid && !is_read),
    .in({issued[`T3_DRAM_ACCESS], issued[`T3_DRAM_OWNER], issued[`T3_DRAM_OP],
         issued[`T3_DRAM_DTYPE], issued[`T3_DRAM_DATA]}),
    .out_valid(write_due),
    .out({write_access, owner, op, dtype, operand})
  );

  localparam [`T3_NMC_OUT_EPOCH_BITS-1:0] NO_EPOCH = 0;
  assign write_word[`DRAM_WORD_DATA] = operand;
  assign write_word[`DRAM_WORD_EPOCH] = NO_EPOCH;

  assign nmc_in__valid = write_due && write_access == `T3_ACCESS_UPDATE;
  always @* begin
    // The payload is 0 while valid is 0, so that no unknown bits spread in simulation.
    nmc_in__payload = 0;
    if (nmc_in__valid) begin
      nmc_in__payload[`T3_NMC_IN_STORED] = stored_word[`DRAM_WORD_DATA];
      nmc_in__payload[`T3_NMC_IN_STORED_EPOCH] = stored_word[`DRAM_WORD_EPOCH];
      nmc_in__payload[`T3_NMC_IN_OWNER] = owner;
      nmc_in__payload[`T3_NMC_IN_OPERAND] = operand;
      nmc_in__payload[`T3_NMC_IN_OP] = op;
      nmc_in__payload[`T3_NMC_IN_DTYPE] = dtype;
    end
  end

  always @(posedge clk) begin
    returns__valid <= read_due && read_origin == `T3_ORIGIN_COMMUNICATION;
    read_valid <= read_due && read_origin == `T3_ORIGIN_COMPUTE;
    if (read_due) begin
      returns__payload[`T3_RETURNS_SLOT] <= due_tag[`T3_RETURNS_SLOT_BITS-1:0];
      returns__payload[`T3_RETURNS_DATA] <= read_word[`DRAM_WORD_DATA];
      read_tag <= due_tag[`T3_READS_TAG_BITS-1:0];
      read_data <= read_word[`DRAM_WORD_DATA];
    end
    if (rst) begin
      returns__valid <= 0;
      returns__payload <= 0;
      read_valid <= 0;
    end
  end
endmodule
