// Bench of the controller with random requests. Every value read, every acknowledgement, the
// occupancy of the queue and the longest wait are checked; dram_checker.v checks the commands. The
// expected value of an atom follows from the order of its requests. A model of the reduce unit
// adds.
`include "t3_layouts.vh"
`include "dram_layouts.vh"
`include "dram_standard.vh"

module dram_controller_tb;
  localparam ATOM_BITS = 12, ROW_BITS = ATOM_BITS - `DRAM_ATOM_ROW_LOW;
  localparam DEPTH = 16, AGE_LIMIT = 1000;
  localparam PHASES = 12, REQUESTS = 300;  // of each phase
  // Longest time from a request to its answer: the whole queue needs rows of one bank, with a
  // refresh.
  localparam MOST_CLOCKS = DEPTH * `DRAM_tRC + 2 * `DRAM_tRFC + AGE_LIMIT;
  localparam SLOTS = 1 << `T3_RETURNS_SLOT_BITS, TAGS = 64;
  localparam REDUCE_CLOCKS = 4;
  localparam WORDS = `T3_DRAM_DATA_BITS / 32;

  reg clk = 0, rst = 1;
  always #5 clk = ~clk;

  reg [`T3_DRAM_BITS-1:0] dram__payload = 0;
  reg dram__valid = 0;
  wire dram__ready;
  wire [`T3_OCCUPANCY_BITS-1:0] occupancy;
  wire [`T3_ISSUE_ACKS_BITS-1:0] issue_acks__payload;
  wire issue_acks__valid;
  reg issue_acks__ready = 0;
  wire [`T3_RETURNS_BITS-1:0] returns__payload;
  wire returns__valid, read_valid, written_valid, memory_owes;
  wire [`T3_DRAM_DATA_BITS-1:0] read_data;
  wire [`T3_READS_TAG_BITS-1:0] read_tag;
  wire [`T3_DRAM_ATOM_BITS-1:0] written_atom;
  wire [`T3_NMC_IN_BITS-1:0] nmc_in__payload;
  wire nmc_in__valid;
  wire row_valid, column_valid;
  wire [`DRAM_ROW_COMMAND_BITS-1:0] row_command;
  wire [`DRAM_BANK_BITS-1:0] row_bank, column_bank;
  wire [ROW_BITS-1:0] row_row;
  wire [`T3_DRAM_ACCESS_BITS-1:0] column_access;
  wire [`DRAM_COLUMN_BITS-1:0] column_column;
  wire [`DRAM_WORD_BITS-1:0] write_word, read_word, stored_word;
  wire [`T3_NMC_OUT_BITS-1:0] nmc_out__payload;
  wire nmc_out__valid;

  dram_controller #(
    .DEPTH(DEPTH),
    .ATOM_BITS(ATOM_BITS),
    .AGE_LIMIT(AGE_LIMIT)
  ) dut (
    .clk(clk),
    .rst(rst),
    .dram__payload(dram__payload),
    .dram__valid(dram__valid),
    .dram__ready(dram__ready),
    .occupancy(occupancy),
    .issue_acks__payload(issue_acks__payload),
    .issue_acks__valid(issue_acks__valid),
    .issue_acks__ready(issue_acks__ready),
    .returns__payload(returns__payload),
    .returns__valid(returns__valid),
    .memory_owes(memory_owes),
    .read_data(read_data),
    .read_tag(read_tag),
    .read_valid(read_valid),
    .written_atom(written_atom),
    .written_valid(written_valid),
    .nmc_in__payload(nmc_in__payload),
    .nmc_in__valid(nmc_in__valid),
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
    .stored_word(stored_word)
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

  // Model of the reduce unit: it adds words of 32 bits if the atom has the epoch; else it stores
  // the operand.

  reg [`T3_NMC_OUT_EPOCH_BITS-1:0] epoch = 1;

  function [`T3_DRAM_DATA_BITS-1:0] added(input [`T3_DRAM_DATA_BITS-1:0] a, b);
    integer word;
    for (word = 0; word < WORDS; word = word + 1) added[32*word+:32] = a[32*word+:32] + b[32*word+:32];
  endfunction

  reg [`T3_NMC_OUT_BITS-1:0] reduced;
  always @* begin
    reduced[`T3_NMC_OUT_EPOCH] = epoch;
    reduced[`T3_NMC_OUT_VALUE] = nmc_in__payload[`T3_NMC_IN_OPERAND];
    if (nmc_in__payload[`T3_NMC_IN_STORED_EPOCH] == epoch)
      reduced[`T3_NMC_OUT_VALUE] =
          added(nmc_in__payload[`T3_NMC_IN_STORED], nmc_in__payload[`T3_NMC_IN_OPERAND]);
  end
  delay_line #(
    .BITS(`T3_NMC_OUT_BITS),
    .CLOCKS(REDUCE_CLOCKS)
  ) reduce (
    .clk(clk),
    .rst(rst),
    .in_valid(nmc_in__valid),
    .in(reduced),
    .out_valid(nmc_out__valid),
    .out(nmc_out__payload)
  );

  // Random numbers (xorshift).

  reg [31:0] random = 32'h2545f491;
  task draw;
    begin
      random = random ^ (random << 13);
      random = random ^ (random >> 17);
      random = random ^ (random << 5);
    end
  endtask

  // Requests of each phase.

  integer phase, request, cycles = 0, entered = 0, issued = 0, answered = 0, to_answer = 0;
  integer progress = 0, longest = 0, writes_entered = 0, writes_acknowledged = 0;
  reg [ATOM_BITS-1:0] atom;
  reg [1:0] access;
  reg origin;

  task choose_atom;  // in random order, so that the queue has to choose
    begin
      draw;
      atom = random[ATOM_BITS-1:0];
      case (phase % 6)
        0: ;                                                        // anywhere
        1: atom = {8'd0, atom[3:0]};                                // a few atoms
        2: begin                                                    // a row, rarely another one
          atom[3:2] = 2'd0;
          atom[ATOM_BITS-1:7] = request % 64 == 5 ? {3'd5, 2'd0} : 0;
        end
        3: atom[3:2] = 2'd1;                                        // one bank group
        4: atom[8:2] = {2'd2, 3'd0, 2'd3};                          // many rows of one bank
        default: atom = {atom[ATOM_BITS-1:9], 9'd0} + request % 16; // a stream in some rows
      endcase
    end
  endtask

  task choose_access;
    begin
      draw;
      origin = random[8];
      access = `T3_ACCESS_READ;
      case (phase / 3)
        0: access = random[7:0] % 3;
        1: if (random[7:0] < 64) access = `T3_ACCESS_WRITE;
        2: if (random[7:0] < 240) access = `T3_ACCESS_UPDATE;
        default: if ((request / 40) % 2) access = 1 + random[0];
      endcase
    end
  endtask

  // Expected answer to each request.

  reg [`T3_DRAM_DATA_BITS-1:0] value [0:(1 << ATOM_BITS) - 1];
  reg [`T3_NMC_OUT_EPOCH_BITS-1:0] value_epoch [0:(1 << ATOM_BITS) - 1];
  reg [SLOTS-1:0] slots_busy = 0;
  reg [TAGS-1:0] tags_busy = 0;
  reg [`T3_DRAM_DATA_BITS-1:0] of_slot [0:SLOTS-1], of_tag [0:TAGS-1];
  integer slot_since [0:SLOTS-1], tag_since [0:TAGS-1];
  reg [`T3_ISSUE_ACKS_BITS-1:0] ack_of [0:65535];  // by the request's number
  integer ack_since [0:65535];
  reg [65535:0] ack_waits = 0;
  reg [`T3_ISSUE_ACKS_BITS-1:0] expected_ack;
  reg [`T3_DRAM_TAG_BITS-1:0] tag;
  reg [`T3_DRAM_OWNER_BITS-1:0] owner;
  reg [`T3_DRAM_WAVEFRONT_BITS-1:0] wavefront;
  reg [`T3_DRAM_DATA_BITS-1:0] operand;
  reg [15:0] number = 0;
  integer word;

  task offer_it;
    begin
      dram__payload[`T3_DRAM_ACCESS] = access;
      dram__payload[`T3_DRAM_ORIGIN] = origin;
      dram__payload[`T3_DRAM_ATOM] = atom;
      dram__payload[`T3_DRAM_TAG] = tag;
      dram__payload[`T3_DRAM_OWNER] = owner;
      dram__payload[`T3_DRAM_DISPATCH_INDEX] = number;
      dram__payload[`T3_DRAM_WAVEFRONT] = wavefront;
      dram__payload[`T3_DRAM_DATA] = operand;
      dram__valid = 1;
    end
  endtask

  task expect_it;  // when the request is accepted
    begin
      if (access == `T3_ACCESS_READ) begin
        to_answer = to_answer + 1;
        if (origin == `T3_ORIGIN_COMMUNICATION) begin
          slots_busy[tag] = 1;
          of_slot[tag] = value[atom];
          slot_since[tag] = cycles;
        end else begin
          tags_busy[tag] = 1;
          of_tag[tag] = value[atom];
          tag_since[tag] = cycles;
        end
      end else if (access == `T3_ACCESS_WRITE) begin
        value[atom] = operand;
        value_epoch[atom] = 0;
        if (origin == `T3_ORIGIN_COMPUTE) writes_entered = writes_entered + 1;
      end else begin
        value[atom] = value_epoch[atom] == epoch ? added(value[atom], operand) : operand;
        value_epoch[atom] = epoch;
      end
      if (access == `T3_ACCESS_UPDATE
          || access == `T3_ACCESS_WRITE && origin == `T3_ORIGIN_COMMUNICATION) begin
        expected_ack[`T3_ISSUE_ACKS_ACCESS] = access;
        expected_ack[`T3_ISSUE_ACKS_ATOM] = atom;
        expected_ack[`T3_ISSUE_ACKS_OWNER] = owner;
        expected_ack[`T3_ISSUE_ACKS_DISPATCH_INDEX] = number;
        expected_ack[`T3_ISSUE_ACKS_WAVEFRONT] = wavefront;
        ack_of[number] = expected_ack;
        ack_since[number] = cycles;
        ack_waits[number] = 1;
        to_answer = to_answer + 1;
      end
      number = number + 1;
    end
  endtask

  task push_request;
    begin
      choose_atom;
      choose_access;
      draw;
      owner = random[`T3_DRAM_OWNER_BITS-1:0];
      wavefront = random[`T3_DRAM_WAVEFRONT_BITS+7:8];
      tag = random[31:16] % (origin == `T3_ORIGIN_COMMUNICATION ? SLOTS : TAGS);
      // Without a free tag it is a write.
      if (access == `T3_ACCESS_READ
          && (origin == `T3_ORIGIN_COMMUNICATION ? slots_busy[tag] : tags_busy[tag]))
        access = `T3_ACCESS_WRITE;
      for (word = 0; word < WORDS; word = word + 1) begin
        draw;
        operand[32*word+:32] = random;
      end
      offer_it;
      while (!dram__ready) @(negedge clk);
      expect_it;
      @(negedge clk);
      dram__valid = 0;
      draw;
      if (random[3:0] < phase) repeat (random[7:4]) @(negedge clk);
    end
  endtask

  // Answers.

  task note_wait(input integer since);
    begin
      answered = answered + 1;
      progress = cycles;
      if (cycles - since > longest) longest = cycles - since;
      if (longest > MOST_CLOCKS) fail("a request waits for too long");
    end
  endtask

  wire [`T3_RETURNS_SLOT_BITS-1:0] slot = returns__payload[`T3_RETURNS_SLOT];
  wire [15:0] acknowledged = issue_acks__payload[`T3_ISSUE_ACKS_DISPATCH_INDEX];

  always @(posedge clk)
    if (!rst) begin
      cycles = cycles + 1;
      if (cycles == 200000) fail("it takes too long");
      if (answered == to_answer) progress = cycles;
      if (cycles - progress > 2 * MOST_CLOCKS) fail("an answer is missing");
      if (column_valid) issued = issued + 1;
      if (occupancy != entered - issued) fail("a wrong occupancy");
      if (dram__valid && dram__ready) entered = entered + 1;
      if ((returns__valid || issue_acks__valid || nmc_in__valid) && !memory_owes)
        fail("an answer that is not owed");
      if (returns__valid) begin
        if (!slots_busy[slot]) fail("data without a read");
        if (returns__payload[`T3_RETURNS_DATA] != of_slot[slot]) fail("a read of T3 has a wrong value");
        slots_busy[slot] = 0;
        note_wait(slot_since[slot]);
      end
      if (read_valid) begin
        if (read_tag >= TAGS || !tags_busy[read_tag]) fail("data without a read");
        if (read_data != of_tag[read_tag]) fail("a compute read has a wrong value");
        tags_busy[read_tag] = 0;
        note_wait(tag_since[read_tag]);
      end
      if (issue_acks__valid && issue_acks__ready) begin
        if (!ack_waits[acknowledged]) fail("an acknowledgement too many");
        if (issue_acks__payload != ack_of[acknowledged]) fail("a wrong acknowledgement");
        ack_waits[acknowledged] = 0;
        note_wait(ack_since[acknowledged]);
      end
      if (written_valid) writes_acknowledged = writes_acknowledged + 1;
    end

  // T3 takes an acknowledgement in most cycles.
  reg [7:0] noise = 8'h5a;
  always @(negedge clk) begin
    noise = {noise[6:0], noise[7] ^ noise[5] ^ noise[4] ^ noise[3]};
    issue_acks__ready = phase % 2 ? noise[1:0] != 0 : 1'b1;
  end

  task fail(input [8*64-1:0] problem);
    begin
      $display("FAIL: %0s (clock %0d)", problem, cycles);
      $fatal(1);
    end
  endtask

  initial begin
    for (request = 0; request < 1 << ATOM_BITS; request = request + 1) begin
      value[request] = {8{32'hdeadbeef}};
      value_epoch[request] = 0;
    end
    phase = 0;
    repeat (4) @(negedge clk);
    rst = 0;
    for (phase = 0; phase < PHASES; phase = phase + 1) begin
      // Only a long phase shows how long a row is kept open.
      for (request = 0; request < (phase % 6 == 2 ? 4 : 1) * REQUESTS; request = request + 1)
        push_request;
      while (answered != to_answer || occupancy != 0) @(negedge clk);
      repeat (40) @(negedge clk);  // the result of an update is stored; no answer is allowed
      if (ack_waits != 0 || answered != to_answer) fail("an answer is missing");
      if (memory_owes) fail("an answer is still owed");
      if (writes_acknowledged != writes_entered) fail("an ordinary write was not acknowledged");
      epoch = epoch + 1;  // as at a launch
    end
    if (dram_checker.refreshes == 0) fail("no refresh");
    $display("PASS: %0d requests, %0d row hits, %0d row misses, %0d turns, %0d refreshes, %0d clocks; longest wait %0d",
      entered, dram_checker.hits, dram_checker.misses, dram_checker.turns, dram_checker.refreshes, cycles, longest);
    $finish;
  end
endmodule
