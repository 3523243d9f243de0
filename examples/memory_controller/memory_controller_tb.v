// A reduce-scatter of four workgroups on one GPU. The bench is the compute units, the upstream GPU
// and the downstream GPU.
//
// Dispatch index 0 is remote: its stores leave for the downstream GPU as they are. Dispatch indices 1 and 2 are
// reduced here with what the upstream GPU sends, and sent on. Dispatch index 3 is reduced and stays.
`include "t3_registers.vh"
`include "t3_layouts.vh"

module memory_controller_tb;
  localparam ATOM_BITS = 10;
  localparam TIMEOUT_CYCLES = 50000;
  // A workgroup's tile: two rows of eight atoms, of which a wavefront has four in each row.
  localparam WORKGROUPS = 4, ROWS = 2, RUN = 8, STRIDE = 32, WAVE_INNER_LOG2 = 2, WAVEFRONTS = 2;
  localparam FIRST_WORKGROUP = 1;
  localparam TILE_ATOMS = ROWS * RUN, WAVE_ATOMS = TILE_ATOMS / WAVEFRONTS;
  localparam ATOM_BYTES = 32, REGION_ATOM = 256, REGION_ATOMS = 128;
  localparam OFFSET_ATOMS = 1024;  // of the downstream GPU's buffer from ours
  localparam CONTEXT = 3, DOWNSTREAM_CONTEXT = 5;
  localparam GENERATION = 1;  // number of the launch, on all GPUs

  reg clk = 0, rst = 1;
  always #5 clk = ~clk;

  reg [15:0] awaddr = 0, araddr = 0;
  reg [31:0] wdata = 0;
  reg awvalid = 0, wvalid = 0, bready = 0, arvalid = 0, rready = 0;
  wire awready, wready, bvalid, arready, rvalid;
  wire [1:0] bresp, rresp;
  wire [31:0] rdata;
  reg [`T3_READS_BITS-1:0] reads__payload = 0;
  reg reads__valid = 0;
  wire reads__ready, read_valid;
  wire [`T3_DRAM_DATA_BITS-1:0] read_data;
  wire [`T3_READS_TAG_BITS-1:0] read_tag;
  reg [`T3_STORES_BITS-1:0] stores__payload = 0;
  reg stores__valid = 0;
  wire stores__ready;
  reg [`T3_LINK_IN_BITS-1:0] link_in__payload = 0;
  reg link_in__valid = 0;
  wire link_in__ready;
  wire [`T3_LINK_OUT_BITS-1:0] link_out__payload;
  wire link_out__valid;
  reg link_out__ready = 0;
  wire [`T3_CONTEXT_CREDIT_LIMIT_OUT_BITS-1:0] credit_limit_out;
  wire [`T3_CONTEXT_DISPATCH_LIMIT_BITS-1:0] dispatch_limit;
  wire [`T3_CONTEXT_GENERATION_BITS-1:0] generation;
  wire stores_room, done, idle, irq;

  memory_controller #(
    .ATOM_BITS(ATOM_BITS)
  ) dut (
    .clk(clk),
    .rst(rst),
    .bus__awaddr(awaddr),
    .bus__awprot(3'b001),  // privileged
    .bus__awvalid(awvalid),
    .bus__awready(awready),
    .bus__wdata(wdata),
    .bus__wstrb(4'b1111),
    .bus__wvalid(wvalid),
    .bus__wready(wready),
    .bus__bresp(bresp),
    .bus__bvalid(bvalid),
    .bus__bready(bready),
    .bus__araddr(araddr),
    .bus__arprot(3'b001),
    .bus__arvalid(arvalid),
    .bus__arready(arready),
    .bus__rdata(rdata),
    .bus__rresp(rresp),
    .bus__rvalid(rvalid),
    .bus__rready(rready),
    .reads__payload(reads__payload),
    .reads__valid(reads__valid),
    .reads__ready(reads__ready),
    .read_data(read_data),
    .read_tag(read_tag),
    .read_valid(read_valid),
    .stores__payload(stores__payload),
    .stores__valid(stores__valid),
    .stores__ready(stores__ready),
    .link_in__payload(link_in__payload),
    .link_in__valid(link_in__valid),
    .link_in__ready(link_in__ready),
    .link_out__payload(link_out__payload),
    .link_out__valid(link_out__valid),
    .link_out__ready(link_out__ready),
    .link_room(1'b1),
    .credit_limit_in({`T3_CONTEXT_CREDIT_LIMIT_IN_BITS{1'b1}}),  // the downstream GPU admits everything
    .generation_in(generation),  // and is at the same launch
    .credit_limit_out(credit_limit_out),
    .generation(generation),
    .stores_room(stores_room),
    .dispatch_limit(dispatch_limit),
    // They guide the arbiter, whose policy here does not ask, and the next launch, which there is not.
    .dispatched({`T3_CONTEXT_DISPATCHED_BITS{1'b0}}),
    .finished({`T3_CONTEXT_FINISHED_BITS{1'b0}}),
    .kernel_generation(generation),
    .done(done),
    .idle(idle),
    .irq(irq)
  );

  // What is stored where.

  function [`T3_STORES_ATOM_BITS-1:0] atom_of(input integer dispatch_index, input integer index);
    // The workgroups' tiles lie side by side.
    atom_of = REGION_ATOM + ((dispatch_index + FIRST_WORKGROUP) % WORKGROUPS) * RUN
        + (index / RUN) * STRIDE + index % RUN;
  endfunction

  function integer wavefront_of(input integer index);
    wavefront_of = (index % RUN) >> WAVE_INNER_LOG2;
  endfunction

  function [15:0] fp16(input integer value);  // of the integers 0 to 8
    case (value)
      0: fp16 = 16'h0000;
      1: fp16 = 16'h3c00;
      2: fp16 = 16'h4000;
      3: fp16 = 16'h4200;
      4: fp16 = 16'h4400;
      5: fp16 = 16'h4500;
      6: fp16 = 16'h4600;
      7: fp16 = 16'h4700;
      default: fp16 = 16'h4800;
    endcase
  endfunction

  // Lanes that differ: lane i of atom a is (i + a) mod 4, and as much as `more` on top.
  function [`T3_STORES_DATA_BITS-1:0] numbers(input integer atom, input integer more);
    integer lane;
    for (lane = 0; lane < `T3_STORES_DATA_BITS / 16; lane = lane + 1)
      numbers[16*lane+:16] = fp16((lane + atom) % 4 + more);
  endfunction

  // The register port. The bench drives its inputs at the falling edge; no output of T3 depends
  // combinationally on an input, so what is ready then is taken at the next rising edge.

  task write(input [15:0] address, input [31:0] value);
    reg address_taken, value_taken;
    begin
      awaddr = address;
      wdata = value;
      awvalid = 1;
      wvalid = 1;
      while (awvalid || wvalid) begin
        address_taken = awready;
        value_taken = wready;
        @(negedge clk);
        if (address_taken) awvalid = 0;
        if (value_taken) wvalid = 0;
      end
      while (!bvalid) @(negedge clk);
      if (bresp != 0) fail("a register write was refused");
      bready = 1;
      @(negedge clk);
      bready = 0;
    end
  endtask

  task read(input [15:0] address, output [31:0] value);
    begin
      araddr = address;
      arvalid = 1;
      while (!arready) @(negedge clk);
      @(negedge clk);
      arvalid = 0;
      while (!rvalid) @(negedge clk);
      if (rresp != 0) fail("a register read was refused");
      value = rdata;
      rready = 1;
      @(negedge clk);
      rready = 0;
    end
  endtask

  reg [31:0] word;

  task add_range(input integer index, input integer first, input integer last, input [1:0] action);
    begin
      word = 0;
      word[`T3_RANGE_DISPATCH_INDICES_FIRST] = first;
      word[`T3_RANGE_DISPATCH_INDICES_LAST] = last;
      write(`T3_RANGE_DISPATCH_INDICES, word);
      word = 0;
      word[`T3_RANGE_ACTION_ACTION] = action;  // of region 0, by command 0
      write(`T3_RANGE_ACTION, word);
      word = 0;
      word[`T3_RANGE_COMMIT_INDEX] = index;
      word[`T3_RANGE_COMMIT_ENABLE] = 1;
      write(`T3_RANGE_COMMIT, word);
    end
  endtask

  task program_registers;
    begin
      read(`T3_ID, word);
      if (word != `T3_ID_RESET) fail("this is not T3");
      word = 1 << `T3_STATUS_ABORTING;  // as it is after reset
      while (word[`T3_STATUS_ABORTING]) read(`T3_STATUS, word);

      word = 0;
      word[`T3_ADDRESS_SPACE_LOCAL] = CONTEXT;
      word[`T3_ADDRESS_SPACE_ENABLE] = 1;
      word[`T3_ADDRESS_SPACE_REMOTE] = DOWNSTREAM_CONTEXT;
      write(`T3_ADDRESS_SPACE, word);

      write(`T3_FIRST_WORKGROUP, FIRST_WORKGROUP);
      write(`T3_WORKGROUPS, WORKGROUPS);
      write(`T3_TRACKED_FIRST, 1);
      write(`T3_TRACKED_END, WORKGROUPS);
      write(`T3_SHIFT, 1);
      write(`T3_CREDIT_WINDOW, WORKGROUPS);
      write(`T3_COMMAND_WINDOW, 2 * WORKGROUPS);

      write(`T3_REGION_BASE_LO, REGION_ATOM * ATOM_BYTES);
      write(`T3_REGION_LIMIT_LO, (REGION_ATOM + REGION_ATOMS) * ATOM_BYTES);
      word = 0;
      word[`T3_REGION_COMMIT_ENABLE] = 1;
      write(`T3_REGION_COMMIT, word);

      word = 0;
      word[`T3_COMMAND_TRANSFER_KIND] = `T3_PACKET_KIND_UPDATE;
      word[`T3_COMMAND_TRANSFER_OP] = `T3_OPERATION_SUM;
      word[`T3_COMMAND_TRANSFER_DTYPE] = `T3_DATATYPE_FP16;
      word[`T3_COMMAND_TRANSFER_GRANULARITY] = `T3_GRANULARITY_WORKGROUP;
      word[`T3_COMMAND_TRANSFER_WAVE_INNER_LOG2] = WAVE_INNER_LOG2;
      word[`T3_COMMAND_TRANSFER_WAVES_INNER_LOG2] = 1;
      write(`T3_COMMAND_TRANSFER, word);
      write(`T3_COMMAND_OUTER, ROWS);
      write(`T3_COMMAND_INNER, RUN);
      write(`T3_COMMAND_STRIDE, STRIDE);
      word = 0;
      word[`T3_COMMAND_WAVES_WAVE_OUTER_EXTENT] = ROWS;
      word[`T3_COMMAND_WAVES_WAVES0] = WAVEFRONTS;
      write(`T3_COMMAND_WAVES, word);
      write(`T3_COMMAND_OFFSET_LO, OFFSET_ATOMS * ATOM_BYTES);
      write(`T3_COMMAND_COMMIT, 0);

      add_range(0, 0, 0, `T3_ACTION_REMOTE);
      add_range(1, 1, 2, `T3_ACTION_DMA);
      add_range(2, 3, 3, `T3_ACTION_OWN);
      word = 0;
      word[`T3_TRACKING_UPDATES_PER_ATOM] = 2;
      word[`T3_TRACKING_GENERATION] = GENERATION;
      write(`T3_TRACKING, word);
      word = 0;
      word[`T3_CONTROL_LAUNCH] = 1;
      write(`T3_CONTROL, word);
    end
  endtask

  // The compute units.

  reg [`T3_STORES_BITS-1:0] store;

  task push_store;
    begin
      stores__payload = store;
      stores__valid = 1;
      while (!stores__ready) @(negedge clk);
      @(negedge clk);
      stores__valid = 0;
    end
  endtask

  task store_workgroup(input integer dispatch_index);
    integer index, wavefront;
    reg [`T3_STORES_ATOM_BITS-1:0] atom;
    begin
      while (dispatch_limit <= dispatch_index || !stores_room) @(negedge clk);
      for (index = 0; index < TILE_ATOMS; index = index + 1) begin
        atom = atom_of(dispatch_index, index);
        store = 0;
        store[`T3_STORES_KIND] = `T3_STORE_KIND_STORE;
        store[`T3_STORES_ATOM] = atom;
        store[`T3_STORES_CONTEXT] = CONTEXT;
        store[`T3_STORES_GENERATION] = GENERATION;
        store[`T3_STORES_WORKGROUP] = (dispatch_index + FIRST_WORKGROUP) % WORKGROUPS;
        store[`T3_STORES_WAVEFRONT] = wavefront_of(index);
        store[`T3_STORES_DATA] = numbers(atom, 0);
        push_store;
      end
      for (wavefront = 0; wavefront < WAVEFRONTS; wavefront = wavefront + 1) begin
        store[`T3_STORES_KIND] = `T3_STORE_KIND_END_OF_TILE;
        store[`T3_STORES_WAVEFRONT] = wavefront;
        store[`T3_STORES_TILE_ATOMS] = WAVE_ATOMS;
        push_store;
      end
    end
  endtask

  // The upstream GPU: its partial sums of what is tracked here, when this GPU has admitted it.

  reg [`T3_LINK_IN_BITS-1:0] packet;

  task send_workgroup(input integer dispatch_index);
    integer index;
    reg [`T3_LINK_IN_ATOM_BITS-1:0] atom;
    begin
      while (credit_limit_out <= dispatch_index) @(negedge clk);
      for (index = 0; index < TILE_ATOMS; index = index + 1) begin
        atom = atom_of(dispatch_index, index);
        packet = 0;
        packet[`T3_LINK_IN_KIND] = `T3_PACKET_KIND_UPDATE;
        packet[`T3_LINK_IN_ATOM] = atom;
        packet[`T3_LINK_IN_CONTEXT] = CONTEXT;
        packet[`T3_LINK_IN_GENERATION] = GENERATION;
        packet[`T3_LINK_IN_WORKGROUP] = (dispatch_index + FIRST_WORKGROUP) % WORKGROUPS;
        packet[`T3_LINK_IN_WAVEFRONT] = wavefront_of(index);
        packet[`T3_LINK_IN_OP] = `T3_OPERATION_SUM;
        packet[`T3_LINK_IN_DTYPE] = `T3_DATATYPE_FP16;
        packet[`T3_LINK_IN_DATA] = numbers(atom, 1);
        link_in__payload = packet;
        link_in__valid = 1;
        while (!link_in__ready) @(negedge clk);
        @(negedge clk);
        link_in__valid = 0;
      end
    end
  endtask

  // The downstream GPU: takes a packet in some cycles and counts what it gets for each atom.

  integer received = 0, total;
  integer packets [0:(1 << ATOM_BITS) - 1];
  reg [`T3_LINK_OUT_DATA_BITS-1:0] sent [0:(1 << ATOM_BITS) - 1];
  reg [`T3_LINK_OUT_ATOM_BITS-1:0] remote_atom;
  reg [15:0] noise = 16'hace1;

  always @(posedge clk) begin
    noise <= {noise[14:0], noise[15] ^ noise[13] ^ noise[12] ^ noise[10]};
    link_out__ready <= noise[0];
    if (link_out__valid && link_out__ready) begin
      remote_atom = link_out__payload[`T3_LINK_OUT_ATOM] - OFFSET_ATOMS;
      if (remote_atom >= 1 << ATOM_BITS) fail("a packet for an address outside the buffer");
      if (link_out__payload[`T3_LINK_OUT_KIND] != `T3_PACKET_KIND_UPDATE
          || link_out__payload[`T3_LINK_OUT_CONTEXT] != DOWNSTREAM_CONTEXT)
        fail("a packet of another kind or context than the command's");
      packets[remote_atom[ATOM_BITS-1:0]] = packets[remote_atom[ATOM_BITS-1:0]] + 1;
      sent[remote_atom[ATOM_BITS-1:0]] = link_out__payload[`T3_LINK_OUT_DATA];
      received = received + 1;
    end
  end

  // Sums in lane i of atom a: ours and the upstream GPU's, 2 * ((i + a) mod 4) + 1.
  function [`T3_STORES_DATA_BITS-1:0] sums(input integer atom);
    integer lane;
    for (lane = 0; lane < `T3_STORES_DATA_BITS / 16; lane = lane + 1)
      sums[16*lane+:16] = fp16(2 * ((lane + atom) % 4) + 1);
  endfunction

  task check_sent(input integer dispatch_index);
    integer index, atom;
    for (index = 0; index < TILE_ATOMS; index = index + 1) begin
      atom = atom_of(dispatch_index, index);
      if (packets[atom] != 1) fail("an atom was sent on not exactly once");
      if (sent[atom] != (dispatch_index == 0 ? numbers(atom, 0) : sums(atom)))
        fail("an atom was sent on with a wrong value");
    end
  endtask

  reg [`T3_READS_BITS-1:0] fetch;

  task check_own;  // as the next kernel will read it
    integer index, atom;
    for (index = 0; index < TILE_ATOMS; index = index + 1) begin
      atom = atom_of(WORKGROUPS - 1, index);
      fetch = 0;
      fetch[`T3_READS_ATOM] = atom;
      fetch[`T3_READS_TAG] = index;
      reads__payload = fetch;
      reads__valid = 1;
      while (!reads__ready) @(negedge clk);
      @(negedge clk);
      reads__valid = 0;
      while (!read_valid) @(negedge clk);
      if (read_tag != index) fail("a read came back with another one's tag");
      if (read_data != sums(atom)) fail("an atom that stays has a wrong value");
      @(negedge clk);
    end
  endtask

  task fail(input [8*64-1:0] problem);
    begin
      $display("FAIL: %0s (cycle %0d)", problem, cycles);
      $fatal(1);
    end
  endtask

  integer dispatch_index, other, cycles = 0;
  always @(posedge clk) begin
    cycles = cycles + 1;
    if (cycles == TIMEOUT_CYCLES) fail("it takes too long");
  end

  initial begin
    for (other = 0; other < 1 << ATOM_BITS; other = other + 1) packets[other] = 0;
    repeat (4) @(negedge clk);
    rst = 0;
    program_registers;
    fork
      for (dispatch_index = 0; dispatch_index < WORKGROUPS; dispatch_index = dispatch_index + 1) store_workgroup(dispatch_index);
      for (other = 1; other < WORKGROUPS; other = other + 1) send_workgroup(other);
    join
    while (!done || !idle) @(negedge clk);
    repeat (100) @(negedge clk);  // nothing may come after that

    check_own;
    total = 0;
    for (other = 0; other < WORKGROUPS - 1; other = other + 1) begin
      check_sent(other);
      total = total + TILE_ATOMS;
    end
    if (received != total) fail("more was sent on than there is");
    read(`T3_TILES, word);
    if (word != (WORKGROUPS - 1) * WAVEFRONTS) fail("a tile is missing, or too many");
    if (irq) fail("the hardware reports an error");
    $display("PASS: %0d packets, %0d tiles, %0d cycles", received, word, cycles);
    $finish;
  end
endmodule
