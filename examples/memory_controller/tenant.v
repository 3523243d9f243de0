// Model of a tenant: its compute units, its upstream GPU and its downstream GPU. It runs a launch
// and checks every packet to the downstream GPU.
`include "t3_layouts.vh"

module tenant #(
  parameter NUMBER = 0,
  parameter [3:0] SPACE = 0, DOWNSTREAM_SPACE = 0,
  parameter REGION_ATOM = 0,
  parameter [1:0] OP = 0, DTYPE = 0
) (
  input wire clk,
  // Compute units.
  output reg [`T3_STORES_BITS-1:0] store,
  output reg store_valid,
  input wire store_ready,
  input wire store_space,
  input wire [`T3_CONTEXT_DISPATCH_LIMIT_BITS-1:0] dispatch_limit,
  output reg [`T3_CONTEXT_FINISHED_BITS-1:0] finished,
  // Generation of the running launch, and of the launch to which T3's limits belong.
  output reg [`T3_CONTEXT_GENERATION_BITS-1:0] generation,
  input wire [`T3_CONTEXT_GENERATION_BITS-1:0] limits_generation,
  // Upstream GPU.
  output reg [`T3_LINK_IN_BITS-1:0] packet,
  output reg packet_valid,
  input wire packet_ready,
  input wire [`T3_CONTEXT_CREDIT_LIMIT_OUT_BITS-1:0] credit_limit_out,
  // Downstream GPU: packets to all tenants; a packet is accepted in this cycle.
  input wire [`T3_LINK_OUT_BITS-1:0] sent,
  input wire sent_valid
);
  `include "tenants.vh"
  localparam LANE_BITS = DTYPE == `T3_DATATYPE_FP32 ? 32 : 16;
  localparam EXPONENT_BIAS = DTYPE == `T3_DATATYPE_FP16 ? 15 : 127;
  // Marker of a wavefront's tile in an END packet: its atoms, no matrix edge, one share.
  localparam [`T3_LINK_IN_ATOM_BITS-1:0] MARKER
      = WAVE_ATOMS | 1 << (`T3_STORES_TILE_ATOMS_BITS + 2);
  localparam FRACTION_BITS = DTYPE == `T3_DATATYPE_FP32 ? 23 : DTYPE == `T3_DATATYPE_FP16 ? 10 : 7;

  reg running = 0, aborted = 0;  // an aborted kernel stores no more
  integer received = 0, ended = 0;
  initial {store, store_valid, finished, generation, packet, packet_valid} = 0;

  // Stored data and their addresses.

  function [`T3_STORES_ATOM_BITS-1:0] atom_of(input integer dispatch_index, input integer index);
    // The tiles lie side by side; the kernel begins with another one on each GPU.
    atom_of = REGION_ATOM + ((dispatch_index + FIRST_TILE) % WORKGROUPS) * RUN
        + (index / RUN) * STRIDE + index % RUN;
  endfunction

  function integer wavefront_of(input integer index);
    wavefront_of = (index % RUN) >> WAVE_INNER_LOG2;
  endfunction

  // Values of both GPUs for a lane of an atom, different in each launch.
  function integer local_number(input integer atom, input integer lane);
    local_number = (3 * lane + atom + 5 * generation) % 41 - 20;
  endfunction

  function integer upstream_number(input integer atom, input integer lane);
    upstream_number = (7 * lane + 3 * atom + generation) % 37 - 18;
  endfunction

  function integer reduced_number(input integer atom, input integer lane);
    if (OP == `T3_OPERATION_SUM)
      reduced_number = local_number(atom, lane) + upstream_number(atom, lane);
    else
      reduced_number = local_number(atom, lane) > upstream_number(atom, lane)
          ? local_number(atom, lane) : upstream_number(atom, lane);
  endfunction

  function [31:0] float(input integer number);  // exact: less than 256 in magnitude
    integer magnitude, exponent;
    begin
      magnitude = number < 0 ? -number : number;
      exponent = 0;
      while (magnitude >> (exponent + 1) != 0) exponent = exponent + 1;
      float = 0;
      if (number != 0)
        float = ((number < 0) << (LANE_BITS - 1)) | ((exponent + EXPONENT_BIAS) << FRACTION_BITS)
            | ((magnitude << (FRACTION_BITS - exponent)) & ((1 << FRACTION_BITS) - 1));
    end
  endfunction

  localparam LOCAL = 0, UPSTREAM = 1, REDUCED = 2;
  function [`T3_STORES_DATA_BITS-1:0] data_of(input integer atom, input integer whose);
    integer lane;
    for (lane = 0; lane < `T3_STORES_DATA_BITS / LANE_BITS; lane = lane + 1)
      data_of[LANE_BITS*lane+:LANE_BITS] = float(
          whose == LOCAL ? local_number(atom, lane) : whose == UPSTREAM ? upstream_number(atom, lane)
          : reduced_number(atom, lane));
  endfunction

  // Compute units.

  task push_store;
    begin
      store_valid = 1;
      while (!store_ready) @(negedge clk);
      @(negedge clk);
      store_valid = 0;
    end
  endtask

  task store_workgroup(input integer dispatch_index);
    integer index;
    begin
      while (!aborted && !(limits_generation == generation && dispatch_index < dispatch_limit))
        @(negedge clk);
      for (index = 0; index < TILE_ATOMS && !aborted; index = index + 1) begin
        while (!store_space) @(negedge clk);
        store = 0;
        store[`T3_STORES_KIND] = `T3_STORE_KIND_STORE;
        store[`T3_STORES_ATOM] = atom_of(dispatch_index, index);
        store[`T3_STORES_CONTEXT] = SPACE;
        store[`T3_STORES_GENERATION] = generation;
        store[`T3_STORES_DISPATCH_INDEX] = dispatch_index;
        store[`T3_STORES_WAVEFRONT] = wavefront_of(index);
        store[`T3_STORES_DATA] = data_of(atom_of(dispatch_index, index), LOCAL);
        push_store;
      end
      for (index = 0; index < WAVEFRONTS && !aborted; index = index + 1) begin
        store[`T3_STORES_KIND] = `T3_STORE_KIND_END_OF_TILE;
        store[`T3_STORES_WAVEFRONT] = index;
        store[`T3_STORES_TILE_ATOMS] = WAVE_ATOMS;
        store[`T3_STORES_SHARES] = 1;
        push_store;
      end
      finished = finished + 1;
    end
  endtask

  // Upstream GPU: its partial results for the tracked tiles, after their admission by this GPU, and
  // the end of each tile.

  task push_packet;
    begin
      packet_valid = 1;
      while (!packet_ready) @(negedge clk);
      @(negedge clk);
      packet_valid = 0;
    end
  endtask

  task send_tile(input integer slot);
    integer index;
    begin
      while (!aborted && !(limits_generation == generation && slot < credit_limit_out))
        @(negedge clk);
      for (index = 0; index < TILE_ATOMS && !aborted; index = index + 1) begin
        packet = 0;
        packet[`T3_LINK_IN_KIND] = `T3_PACKET_KIND_UPDATE;
        packet[`T3_LINK_IN_ATOM] = atom_of(slot, index);
        packet[`T3_LINK_IN_CONTEXT] = SPACE;
        packet[`T3_LINK_IN_SOURCE] = UPSTREAM_GPU;
        packet[`T3_LINK_IN_GENERATION] = generation;
        packet[`T3_LINK_IN_SLOT] = slot;
        packet[`T3_LINK_IN_WAVEFRONT] = wavefront_of(index);
        packet[`T3_LINK_IN_OP] = OP;
        packet[`T3_LINK_IN_DTYPE] = DTYPE;
        packet[`T3_LINK_IN_DATA] = data_of(atom_of(slot, index), UPSTREAM);
        push_packet;
      end
      for (index = 0; index < WAVEFRONTS && !aborted; index = index + 1) begin
        packet[`T3_LINK_IN_KIND] = `T3_PACKET_KIND_END;
        packet[`T3_LINK_IN_ATOM] = MARKER;
        packet[`T3_LINK_IN_WAVEFRONT] = index;
        push_packet;
      end
    end
  endtask

  integer dispatch_index, slot;

  task run(input integer of_generation);  // until all is stored and sent, or an abort
    begin
      generation = of_generation;
      finished = 0;
      received = 0;
      ended = 0;
      packets = 0;
      ends = 0;
      aborted = 0;
      running = 1;
      fork
        for (dispatch_index = 0; dispatch_index < WORKGROUPS; dispatch_index = dispatch_index + 1)
          store_workgroup(dispatch_index);
        for (slot = REMOTE; slot < WORKGROUPS; slot = slot + 1)
          send_tile(slot);
      join
      running = 0;
    end
  endtask

  // Downstream GPU.

  reg [REGION_ATOMS-1:0] packets = 0;  // atoms received
  reg [SENT*WAVEFRONTS-1:0] ends = 0;  // wavefronts' tiles that have ended
  integer atom, index_in_row, tile;
  reg [`T3_LINK_OUT_DATA_BITS-1:0] expected;

  always @(posedge clk)
    if (sent_valid && sent[`T3_LINK_OUT_CONTEXT] == DOWNSTREAM_SPACE
        && sent[`T3_LINK_OUT_KIND] == `T3_PACKET_KIND_END) begin
      tile = (sent[`T3_LINK_OUT_SLOT] - SLOT_OFFSET) * WAVEFRONTS + sent[`T3_LINK_OUT_WAVEFRONT];
      if (sent[`T3_LINK_OUT_GENERATION] != generation) fail("a marker of a wrong launch");
      if (tile < 0 || tile >= SENT * WAVEFRONTS) fail("a marker of a tile that stays");
      if (ends[tile]) fail("a tile has ended twice");
      if (sent[`T3_LINK_OUT_ATOM] != MARKER) fail("a marker with wrong atoms, edges or shares");
      ends[tile] = 1;
      ended = ended + 1;
    end
    else if (sent_valid && sent[`T3_LINK_OUT_CONTEXT] == DOWNSTREAM_SPACE) begin
      atom = sent[`T3_LINK_OUT_ATOM] - OFFSET_ATOMS;
      if (atom < REGION_ATOM || atom >= REGION_ATOM + REGION_ATOMS)
        fail("a packet for an address outside the buffer");
      if (packets[atom - REGION_ATOM]) fail("an atom was sent twice");
      if (sent[`T3_LINK_OUT_KIND] != `T3_PACKET_KIND_UPDATE || sent[`T3_LINK_OUT_OP] != OP
          || sent[`T3_LINK_OUT_DTYPE] != DTYPE || sent[`T3_LINK_OUT_GENERATION] != generation)
        fail("a packet with a wrong kind or launch");
      if (sent[`T3_LINK_OUT_DESTINATION] != DOWNSTREAM_GPU || sent[`T3_LINK_OUT_SOURCE] != GPU)
        fail("a packet to or from a wrong GPU");
      // Dispatch index of the atom, from its place in a row of tiles.
      index_in_row = (atom - REGION_ATOM) % STRIDE / RUN;
      dispatch_index_of_atom = (index_in_row + WORKGROUPS - FIRST_TILE) % WORKGROUPS;
      if (dispatch_index_of_atom >= SENT) fail("an atom of the own chunk was sent");
      if (sent[`T3_LINK_OUT_SLOT] != dispatch_index_of_atom + SLOT_OFFSET) fail("a wrong slot");
      expected = data_of(atom, dispatch_index_of_atom < REMOTE ? LOCAL : REDUCED);
      if (sent[`T3_LINK_OUT_DATA] != expected) fail("an atom was sent on with a wrong value");
      packets[atom - REGION_ATOM] = 1;
      received = received + 1;
    end
  integer dispatch_index_of_atom;

  task fail(input [8*64-1:0] problem);
    begin
      $display("FAIL: tenant %0d: %0s", NUMBER, problem);
      $fatal(1);
    end
  endtask
endmodule
