// DRAM queue: requests wait in slots until the scheduler selects them. It records their order. A
// request is in order if no earlier request to its atom waits; other requests may overtake each
// other.
`include "t3_layouts.vh"
`include "dram_layouts.vh"

module request_queue #(
  parameter DEPTH = 16,
  parameter ATOM_BITS = 12,       // of the installed memory
  parameter [11:0] AGE_LIMIT = 0  // clocks after which the oldest request goes first
) (
  input wire clk,
  input wire rst,
  input wire [`T3_DRAM_BITS-1:0] request,
  input wire request_valid,
  output wire request_ready,
  output reg [`T3_OCCUPANCY_BITS-1:0] occupancy,
  // Per slot.
  output reg [DEPTH-1:0] valid,
  output reg [DEPTH-1:0] in_order,
  output reg [DEPTH-1:0] reads,
  output reg [DEPTH-1:0] acknowledged,  // the issue is acknowledged to T3
  output wire [DEPTH*ATOM_BITS-1:0] atoms,
  output wire [DEPTH*DEPTH-1:0] older,  // bit DEPTH * i + j: slot j is older than slot i
  output reg [DEPTH-1:0] oldest,
  output wire starved,                  // the oldest request exceeds the age limit
  // Slot selected in this cycle, if any, and its request.
  input wire [DEPTH-1:0] take,
  output reg [`T3_DRAM_BITS-1:0] taken
);
  reg [`T3_DRAM_BITS-1:0] requests [0:DEPTH-1];
  reg [DEPTH-1:0] older_than [0:DEPTH-1];
  reg [DEPTH-1:0] waits_for [0:DEPTH-1];  // earlier requests to the same atom
  reg [ATOM_BITS-1:0] atom_of [0:DEPTH-1];
  reg [11:0] arrival [0:DEPTH-1];
  reg [11:0] now, oldest_arrival;
  integer slot;

  assign request_ready = ~&valid;
  wire push = request_valid && request_ready;
  wire [DEPTH-1:0] free = ~valid & (valid + 1'b1);  // the lowest slot without a request
  wire [DEPTH-1:0] staying = valid & ~take;

  wire [1:0] access = request[`T3_DRAM_ACCESS];
  wire [`T3_DRAM_ATOM_BITS-1:0] request_atom = request[`T3_DRAM_ATOM];
  wire [ATOM_BITS-1:0] atom = request_atom[ATOM_BITS-1:0];
  reg [DEPTH-1:0] same_atom;

  genvar number;
  generate
    for (number = 0; number < DEPTH; number = number + 1) begin : flat
      assign atoms[ATOM_BITS*number+:ATOM_BITS] = atom_of[number];
      assign older[DEPTH*number+:DEPTH] = older_than[number];
    end
  endgenerate

  always @* begin
    taken = 0;
    oldest_arrival = 0;
    for (slot = 0; slot < DEPTH; slot = slot + 1) begin
      in_order[slot] = waits_for[slot] == 0;
      same_atom[slot] = atom_of[slot] == atom;
      oldest[slot] = valid[slot] && older_than[slot] == 0;
      if (oldest[slot]) oldest_arrival = arrival[slot];
      if (take[slot]) taken = requests[slot];
    end
  end
  assign starved = valid != 0 && now - oldest_arrival >= AGE_LIMIT;

  always @(posedge clk) begin
    now <= now + 1'b1;
    valid <= staying | (push ? free : {DEPTH{1'b0}});
    occupancy <= occupancy + {6'd0, push} - {6'd0, take != 0};
    for (slot = 0; slot < DEPTH; slot = slot + 1)
      if (push && free[slot]) begin
        requests[slot] <= request;
        atom_of[slot] <= atom;
        reads[slot] <= access == `T3_ACCESS_READ;
        acknowledged[slot] <= access == `T3_ACCESS_UPDATE
            || access == `T3_ACCESS_WRITE && request[`T3_DRAM_ORIGIN] == `T3_ORIGIN_COMMUNICATION;
        arrival[slot] <= now;
        older_than[slot] <= staying;
        waits_for[slot] <= staying & same_atom;
      end else begin
        older_than[slot] <= older_than[slot] & ~take;
        waits_for[slot] <= waits_for[slot] & ~take;
      end
    if (rst) begin
      now <= 0;
      valid <= 0;
      occupancy <= 0;
      reads <= 0;
      acknowledged <= 0;
      for (slot = 0; slot < DEPTH; slot = slot + 1) begin
        atom_of[slot] <= 0;
        older_than[slot] <= 0;
        waits_for[slot] <= 0;
        arrival[slot] <= 0;
      end
    end
  end
endmodule
