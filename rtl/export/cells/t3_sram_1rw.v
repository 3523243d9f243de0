// Memory with one port: writes or reads one word per cycle.
//
// This is a model. Replace it by a compiled memory of ROWS words of WIDTH bits, in a module of the
// same name, ports and parameters. read_data holds the word that was read last, from the clock edge
// at which enable was high without write; a write does not change it. Contents at power-up are
// don't-care; the model starts with 0, so that two-state and four-state simulators agree.

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
