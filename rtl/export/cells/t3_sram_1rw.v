// Memory with one port: in each clock it writes a word or reads one.
//
// A model: put a memory of your compiler, with ROWS words of WIDTH bits, in a module of this name,
// these ports and parameters. read_data is the word that was read last, and shows it from the clock
// edge on at which enable was high without write; a write leaves it as it is. What words hold at
// power-up means nothing: here it is 0, so that simulators of two and of four states agree.

module t3_sram_1rw #(
  parameter ROWS = 16,
  parameter WIDTH = 8,
  parameter ADDRESS_BITS = 4
) (
  input  wire clk,
  input  wire enable,
  input  wire write,
  input  wire [ADDRESS_BITS-1:0] address,
  input  wire [WIDTH-1:0] write_data,
  output reg  [WIDTH-1:0] read_data
);
  reg [WIDTH-1:0] sram [0:ROWS-1];
  integer sram_row;
  initial begin
    for (sram_row = 0; sram_row < ROWS; sram_row = sram_row + 1) sram[sram_row] = {WIDTH{1'b0}};
    read_data = {WIDTH{1'b0}};
  end
  always @(posedge clk)
    if (enable) begin
      if (write) sram[address] <= write_data;
      else read_data <= sram[address];
    end
`ifdef T3_ASSERT
  default clocking @(posedge clk); endclocking
  assert_address_in_range: assert property (enable |-> address < ROWS);
`endif
endmodule
