// Selection of the oldest among some slots.
module oldest_of #(
  parameter DEPTH = 16
) (
  input wire [DEPTH-1:0] candidates,
  input wire [DEPTH*DEPTH-1:0] older,
  output reg [DEPTH-1:0] chosen
);
  integer slot;
  always @*
    for (slot = 0; slot < DEPTH; slot = slot + 1)
      chosen[slot] = candidates[slot] && (candidates & older[DEPTH*slot+:DEPTH]) == 0;
endmodule
