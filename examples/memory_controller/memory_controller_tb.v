// Bench with the reduce-scatters of two tenants in separate address spaces, and reads and ordinary
// writes besides: sums of fp16 and maxima of fp32. Both run at the same time; then both run again,
// and one is aborted while the other finishes; then both run once more.
`include "t3_registers.vh"
`include "t3_layouts.vh"
`include "dram_layouts.vh"

module memory_controller_tb;
  `include "tenants.vh"
  localparam ATOM_BITS = 12, ROW_BITS = ATOM_BITS - `DRAM_ATOM_ROW_LOW;
  localparam TIMEOUT_CLOCKS = 40000;
  // Buffers in different rows of the same banks.
  localparam REGION_0 = 1024, REGION_1 = 2048, L2_ATOM = 3072;
  // Peers of a context in the hardware's tables.
  localparam PEERS = `T3_CONTEXT_GENERATION_IN_BITS / `T3_CONTEXT_GENERATION_BITS;
  localparam SPACE_0 = 3, SPACE_1 = 6, DOWNSTREAM_SPACE_0 = 5, DOWNSTREAM_SPACE_1 = 9;

  reg clk = 0, rst = 1;
  always #5 clk = ~clk;

  wire [15:0] awaddr, araddr;
  wire [31:0] wdata, rdata;
  wire awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
  wire [1:0] bresp, rresp;
  wire [`T3_READS_BITS-1:0] reads__payload;
  wire reads__valid, reads__ready, read_valid, written_valid;
  wire [`T3_DRAM_DATA_BITS-1:0] read_data;
  wire [`T3_READS_TAG_BITS-1:0] read_tag;
  wire [`T3_DRAM_ATOM_BITS-1:0] written_atom;
  wire [`T3_STORES_BITS-1:0] stores__payload;
  wire stores__valid, stores__ready;
  wire [`T3_LINK_IN_BITS-1:0] link_in__payload;
  wire link_in__valid, link_in__ready;
  wire [`T3_LINK_OUT_BITS-1:0] link_out__payload;
  wire link_out__valid;
  reg link_out__ready = 0;
  wire [2*`T3_CONTEXT_CREDIT_LIMIT_OUT_BITS-1:0] credit_limit_out;
  wire [2*`T3_CONTEXT_DISPATCH_LIMIT_BITS-1:0] dispatch_limit;
  wire [2*`T3_CONTEXT_GENERATION_BITS-1:0] generation, kernel_generation;
  wire [2*`T3_CONTEXT_FINISHED_BITS-1:0] finished;
  wire [`T3_STORE_SPACE_BITS-1:0] store_space;
  wire [1:0] done, idle;
  wire [2:0] irq;
  wire row_valid, column_valid;
  wire [`DRAM_ROW_COMMAND_BITS-1:0] row_command;
  wire [`DRAM_BANK_BITS-1:0] row_bank, column_bank;
  wire [ROW_BITS-1:0] row_row;
  wire [`T3_DRAM_ACCESS_BITS-1:0] column_access;
  wire [`DRAM_COLUMN_BITS-1:0] column_column;
  wire [`DRAM_WORD_BITS-1:0] write_word, read_word, stored_word;
  wire [`T3_NMC_OUT_BITS-1:0] nmc_out__payload;
  wire nmc_out__valid;

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
    .written_atom(written_atom),
    .written_valid(written_valid),
    .stores__payload(stores__payload),
    .stores__valid(stores__valid),
    .stores__ready(stores__ready),
    .link_in__payload(link_in__payload),
    .link_in__valid(link_in__valid),
    .link_in__ready(link_in__ready),
    .link_out__payload(link_out__payload),
    .link_out__valid(link_out__valid),
    .link_out__ready(link_out__ready),
    .link_space({`T3_LINK_SPACE_BITS{1'b1}}),
    .link_down(1'b0),
    .link_reset(1'b0),
    // The peers admit everything, and have the same launches.
    .credit_limit_in({2 * `T3_CONTEXT_CREDIT_LIMIT_IN_BITS{1'b1}}),
    .generation_in({
      {PEERS{generation[`T3_CONTEXT_GENERATION_BITS+:`T3_CONTEXT_GENERATION_BITS]}},
      {PEERS{generation[0+:`T3_CONTEXT_GENERATION_BITS]}}
    }),
    .credit_limit_out(credit_limit_out),
    .generation(generation),
    .aborted_in({2 * `T3_CONTEXT_ABORTED_IN_BITS{1'b0}}),
    .aborted(),
    .store_space(store_space),
    .dispatch_limit(dispatch_limit),
    .dispatched(finished),  // used by an arbitration policy that is not selected here
    .finished(finished),
    .kernel_generation(kernel_generation),
    .done(done),
    .idle(idle),
    .irq(irq),
    .row_valid(row_valid),
    .row_command(row_command),
    .row_bank(row_bank),
    .row_row(row_row),
    .column_valid(column_valid),
    .column_access(column_access),
    .column_bank(column_bank),
    .column_column(column_column),
    .write_word(write_word),
    .read_word(read_word),
    .stored_word(stored_word),
    .nmc_out__payload(nmc_out__payload),
    .nmc_out__valid(nmc_out__valid)
  );
  dram #(
    .ATOM_BITS(ATOM_BITS)
  ) dram (
    .clk(clk),
    .rst(rst),
    .row_valid(row_valid),
    .row_command(row_command),
    .row_bank(row_bank),
    .row_row(row_row),
    .column_valid(column_valid),
    .column_access(column_access),
    .column_bank(column_bank),
    .column_column(column_column),
    .write_word(write_word),
    .read_word(read_word),
    .stored_word(stored_word),
    .nmc_out__payload(nmc_out__payload),
    .nmc_out__valid(nmc_out__valid)
  );
  dram_checker dram_checker (
    .clk(clk),
    .rst(rst),
    .row_valid(row_valid),
    .row_command(row_command),
    .row_bank(row_bank),
    .column_valid(column_valid),
    .column_access(column_access),
    .column_bank(column_bank)
  );
  software software (
    .clk(clk),
    .awaddr(awaddr),
    .awvalid(awvalid),
    .awready(awready),
    .wdata(wdata),
    .wvalid(wvalid),
    .wready(wready),
    .bresp(bresp),
    .bvalid(bvalid),
    .bready(bready),
    .araddr(araddr),
    .arvalid(arvalid),
    .arready(arready),
    .rdata(rdata),
    .rresp(rresp),
    .rvalid(rvalid),
    .rready(rready)
  );

  // Tenants and L2 share the store port; the upstream GPUs of the tenants share the link port.

  wire [`T3_STORES_BITS-1:0] store_0, store_1, store_l2;
  wire [2:0] store_valids, store_readies;
  wire [`T3_LINK_IN_BITS-1:0] packet_0, packet_1;
  wire [1:0] packet_valids, packet_readies;
  stream_merge #(
    .PRODUCERS(3),
    .BITS(`T3_STORES_BITS)
  ) stores (
    .clk(clk),
    .payloads({store_l2, store_1, store_0}),
    .valids(store_valids),
    .readies(store_readies),
    .payload(stores__payload),
    .valid(stores__valid),
    .ready(stores__ready)
  );
  stream_merge #(
    .PRODUCERS(2),
    .BITS(`T3_LINK_IN_BITS)
  ) link_in (
    .clk(clk),
    .payloads({packet_1, packet_0}),
    .valids(packet_valids),
    .readies(packet_readies),
    .payload(link_in__payload),
    .valid(link_in__valid),
    .ready(link_in__ready)
  );

  tenant #(
    .NUMBER(0),
    .SPACE(SPACE_0),
    .DOWNSTREAM_SPACE(DOWNSTREAM_SPACE_0),
    .REGION_ATOM(REGION_0),
    .OP(`T3_OPERATION_SUM),
    .DTYPE(`T3_DATATYPE_FP16)
  ) tenant_0 (
    .clk(clk),
    .store(store_0),
    .store_valid(store_valids[0]),
    .store_ready(store_readies[0]),
    .store_space(store_space[0]),
    .dispatch_limit(dispatch_limit[0+:`T3_CONTEXT_DISPATCH_LIMIT_BITS]),
    .finished(finished[0+:`T3_CONTEXT_FINISHED_BITS]),
    .generation(kernel_generation[0+:`T3_CONTEXT_GENERATION_BITS]),
    .limits_generation(generation[0+:`T3_CONTEXT_GENERATION_BITS]),
    .packet(packet_0),
    .packet_valid(packet_valids[0]),
    .packet_ready(packet_readies[0]),
    .credit_limit_out(credit_limit_out[0+:`T3_CONTEXT_CREDIT_LIMIT_OUT_BITS]),
    .sent(link_out__payload),
    .sent_valid(link_out__valid && link_out__ready)
  );
  tenant #(
    .NUMBER(1),
    .SPACE(SPACE_1),
    .DOWNSTREAM_SPACE(DOWNSTREAM_SPACE_1),
    .REGION_ATOM(REGION_1),
    .OP(`T3_OPERATION_MAX),
    .DTYPE(`T3_DATATYPE_FP32)
  ) tenant_1 (
    .clk(clk),
    .store(store_1),
    .store_valid(store_valids[1]),
    .store_ready(store_readies[1]),
    .store_space(store_space[1]),
    .dispatch_limit(dispatch_limit[`T3_CONTEXT_DISPATCH_LIMIT_BITS+:`T3_CONTEXT_DISPATCH_LIMIT_BITS]),
    .finished(finished[`T3_CONTEXT_FINISHED_BITS+:`T3_CONTEXT_FINISHED_BITS]),
    .generation(kernel_generation[`T3_CONTEXT_GENERATION_BITS+:`T3_CONTEXT_GENERATION_BITS]),
    .limits_generation(generation[`T3_CONTEXT_GENERATION_BITS+:`T3_CONTEXT_GENERATION_BITS]),
    .packet(packet_1),
    .packet_valid(packet_valids[1]),
    .packet_ready(packet_readies[1]),
    .credit_limit_out(credit_limit_out[`T3_CONTEXT_CREDIT_LIMIT_OUT_BITS+:`T3_CONTEXT_CREDIT_LIMIT_OUT_BITS]),
    .sent(link_out__payload),
    .sent_valid(link_out__valid && link_out__ready)
  );
  l2 #(
    .FIRST_ATOM(L2_ATOM)
  ) l2 (
    .clk(clk),
    .store(store_l2),
    .store_valid(store_valids[2]),
    .store_ready(store_readies[2]),
    .written_atom(written_atom),
    .written_valid(written_valid),
    .fetch(reads__payload),
    .fetch_valid(reads__valid),
    .fetch_ready(reads__ready),
    .read_data(read_data),
    .read_tag(read_tag),
    .read_valid(read_valid)
  );

  // The downstream GPU takes a packet in some cycles.
  reg [15:0] noise = 16'hace1;
  always @(posedge clk) begin
    noise <= {noise[14:0], noise[15] ^ noise[13] ^ noise[12] ^ noise[10]};
    link_out__ready <= noise[0];
  end

  task fail(input [8*64-1:0] problem);
    begin
      $display("FAIL: %0s (clock %0d)", problem, clocks);
      $fatal(1);
    end
  endtask

  integer clocks = 0, launches, index, packets;
  reg [31:0] word;
  always @(posedge clk) begin
    clocks = clocks + 1;
    if (clocks == TIMEOUT_CLOCKS) fail("it takes too long");
  end

  // State after a launch: all sent chunks arrived, and reads of the own chunk return the final
  // values.

  task wait_for(input integer number);
    begin
      while (!done[number] || !idle[number]) @(negedge clk);
      repeat (100) @(negedge clk);  // no further packet is allowed
    end
  endtask

  task stop_l2;
    begin
      l2.running = 0;
      while (!l2.quiet) @(negedge clk);
    end
  endtask

  task check_0;
    begin
      if (tenant_0.received != SENT * TILE_ATOMS) fail("not all of tenant 0 was sent on");
      if (tenant_0.ended != SENT * WAVEFRONTS) fail("a marker of tenant 0 is missing");
      stop_l2;
      for (index = 0; index < (WORKGROUPS - SENT) * TILE_ATOMS; index = index + 1) begin
        packets = tenant_0.atom_of(SENT + index / TILE_ATOMS, index % TILE_ATOMS);
        l2.read(packets, tenant_0.data_of(packets, tenant_0.REDUCED));
      end
      l2.running = 1;
    end
  endtask

  task check_1;
    begin
      if (tenant_1.received != SENT * TILE_ATOMS) fail("not all of tenant 1 was sent on");
      if (tenant_1.ended != SENT * WAVEFRONTS) fail("a marker of tenant 1 is missing");
      stop_l2;
      for (index = 0; index < (WORKGROUPS - SENT) * TILE_ATOMS; index = index + 1) begin
        packets = tenant_1.atom_of(SENT + index / TILE_ATOMS, index % TILE_ATOMS);
        l2.read(packets, tenant_1.data_of(packets, tenant_1.REDUCED));
      end
      l2.running = 1;
    end
  endtask

  task run_both(input integer generation_0, input integer generation_1);
    begin
      software.launch(0, generation_0);
      software.launch(1, generation_1);
      fork
        tenant_0.run(generation_0);
        tenant_1.run(generation_1);
      join
      wait_for(0);
      wait_for(1);
      check_0;
      check_1;
    end
  endtask

  task abort_1_of(input integer generation_0, input integer generation_1);
    begin
      software.launch(0, generation_0);
      software.launch(1, generation_1);
      fork
        tenant_0.run(generation_0);
        tenant_1.run(generation_1);
        begin
          while (tenant_1.received < SENT * TILE_ATOMS / 2) @(negedge clk);
          software.abort(1);
          tenant_1.aborted = 1;
          software.wait_abort(1);
        end
      join
      if (done[0] && idle[0]) fail("the abort came after the other launch");
      if (tenant_1.received == SENT * TILE_ATOMS) fail("the abort came too late");
      wait_for(0);
      check_0;
    end
  endtask

  initial begin
    repeat (4) @(negedge clk);
    rst = 0;
    software.identify;
    software.wait_abort(0);
    software.wait_abort(1);
    software.program_context(
        0, SPACE_0, DOWNSTREAM_SPACE_0, REGION_0, `T3_OPERATION_SUM, `T3_DATATYPE_FP16);
    software.program_context(
        1, SPACE_1, DOWNSTREAM_SPACE_1, REGION_1, `T3_OPERATION_MAX, `T3_DATATYPE_FP32);
    software.reset_epochs(0);
    software.reset_epochs(1);
    l2.running = 1;

    run_both(1, 5);
    abort_1_of(2, 6);
    run_both(3, 7);

    stop_l2;
    software.get(0, `T3_TILES, word);
    if (word != 3 * TRACKED * WAVEFRONTS) fail("a tile is missing, or too many");
    if (irq != 0) fail("the hardware reports an error");
    if (l2.checked == 0) fail("no read was checked");
    if (dram_checker.refreshes == 0) fail("no refresh");
    if (dram_checker.hits == 0 || dram_checker.misses == 0) fail("no row hit, or no miss");
    if (dram_checker.turns == 0) fail("the data bus never turned");
    $display("DRAM: %0d reads, %0d writes, %0d updates; %0d row hits, %0d misses, %0d turns, %0d refreshes",
      dram_checker.reads, dram_checker.writes, dram_checker.updates, dram_checker.hits,
      dram_checker.misses, dram_checker.turns, dram_checker.refreshes);
    $display("PASS: 5 launches and an abort, %0d reads beside them, %0d clocks", l2.checked, clocks);
    $finish;
  end
endmodule
