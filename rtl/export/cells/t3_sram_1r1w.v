// Memory with two ports: writes one word and reads one word per cycle.
//
// This is a model. Replace it by a compiled memory of ROWS words of WIDTH bits, in a module of the
// same name, ports and parameters. read_data holds the word that was read last, from the clock edge
// at which read_enable was high. A read of the word that is written in the same cycle returns its
// old value. Contents at power-up are don't-care; the model starts with 0, so that two-state and
// four-state simulators agree.

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
