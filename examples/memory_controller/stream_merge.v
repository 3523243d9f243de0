// Round-robin merge of several producers at one port of T3.
module stream_merge #(
  parameter PRODUCERS = 2,
  parameter BITS = 1
) (
  input wire clk,
  input wire [PRODUCERS*BITS-1:0] payloads,
  input wire [PRODUCERS-1:0] valids,
  output wire [PRODUCERS-1:0] readies,
  output wire [BITS-1:0] payload,
  output wire valid,
  input wire ready
);
  integer turn = 0;
  assign payload = payloads[BITS*turn+:BITS];
  assign valid = valids[turn];
  assign readies = ready ? 1 << turn : 0;

  always @(posedge clk) if (!valid || ready) turn <= (turn + 1) % PRODUCERS;
endmodule
