// Memory with two ports: in each clock it writes a word and reads a word.
//
// A model: put a memory of your compiler, with ROWS words of WIDTH bits, in a module of this name,
// these ports and parameters. read_data is the word that was read last, and shows it from the clock
// edge on at which read_enable was high. A read of the word that is written in the same clock gives
// what it was before. What words hold at power-up means nothing: here it is 0, so that simulators of
// two and of four states agree.

module t3_sram_1r1w #(
  parameter ROWS = 16,
  parameter WIDTH = 8,
  parameter ADDRESS_BITS = 4
) (
  input  wire clk,
  input  wire write_enable,
  input  wire [ADDRESS_BITS-1:0] write_address,
  input  wire [WIDTH-1:0] write_data,
  input  wire read_enable,
  input  wire [ADDRESS_BITS-1:0] read_address,
  output reg  [WIDTH-1:0] read_data
);
  reg [WIDTH-1:0] sram [0:ROWS-1];
  integer sram_row;
  initial begin
    for (sram_row = 0; sram_row < ROWS; sram_row = sram_row + 1) sram[sram_row] = {WIDTH{1'b0}};
    read_data = {WIDTH{1'b0}};
  end
  always @(posedge clk) begin
    if (write_enable) sram[write_address] <= write_data;
    if (read_enable) read_data <= sram[read_address];
  end
`ifdef T3_ASSERT
  default clocking @(posedge clk); endclocking
  assert_write_in_range: assert property (write_enable |-> write_address < ROWS);
  assert_read_in_range: assert property (read_enable |-> read_address < ROWS);
`endif
endmodule
