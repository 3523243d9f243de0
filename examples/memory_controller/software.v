// Driver of the bench: writes and reads registers over AXI4-Lite. The bench drives inputs at the
// falling edge; no output of T3 depends combinationally on an input, so a transfer that is ready at
// the falling edge takes place at the next rising edge.
`include "t3_registers.vh"
`include "t3_layouts.vh"

module software (
  input wire clk,
  output reg [15:0] awaddr,
  output reg awvalid,
  input wire awready,
  output reg [31:0] wdata,
  output reg wvalid,
  input wire wready,
  input wire [1:0] bresp,
  input wire bvalid,
  output reg bready,
  output reg [15:0] araddr,
  output reg arvalid,
  input wire arready,
  input wire [31:0] rdata,
  input wire [1:0] rresp,
  input wire rvalid,
  output reg rready
);
  `include "tenants.vh"
  localparam CONTEXT_PAGE = 16'h1000;  // distance between the registers of two contexts

  initial {awaddr, awvalid, wdata, wvalid, bready, araddr, arvalid, rready} = 0;

  reg address_taken, value_taken;
  task write(input [15:0] address, input [31:0] value);
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
      if (bresp != 0) fail("there is no page for a register write");
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
      if (rresp != 0) fail("there is no register to read");
      value = rdata;
      rready = 1;
      @(negedge clk);
      rready = 0;
    end
  endtask

  // Registers of a context.

  reg [15:0] page;
  reg [31:0] word, status;

  task set(input [15:0] address, input [31:0] value);
    begin
      write(page + address, value);
      read(page + `T3_STATUS, status);  // a refused write is also answered with OKAY
      if (status[`T3_STATUS_CONFIGURATION_ERROR] != `T3_CONFIGURATION_ERROR_NONE)
        fail("a register write was refused");
    end
  endtask

  task get(input integer number, input [15:0] address, output [31:0] value);
    read(CONTEXT_PAGE * number + address, value);
  endtask

  task identify;
    begin
      read(`T3_ID, word);
      if (word != `T3_ID_RESET) fail("this is not T3");
      read(`T3_CONTEXTS, word);
      if (word[`T3_CONTEXTS_COUNT] != 2) fail("this T3 has not two contexts");
    end
  endtask

  task wait_abort(input integer number);  // a reset also aborts
    begin
      word[`T3_STATUS_ABORTING] = 1;
      while (word[`T3_STATUS_ABORTING]) get(number, `T3_STATUS, word);
    end
  endtask

  task add_range(input integer index, input integer first, input integer last, input [1:0] action);
    begin
      word = 0;
      word[`T3_RANGE_DISPATCH_INDICES_FIRST] = first;
      word[`T3_RANGE_DISPATCH_INDICES_LAST] = last;
      set(`T3_RANGE_DISPATCH_INDICES, word);
      word = 0;
      word[`T3_RANGE_ACTION_ACTION] = action;  // of region 0, by command 0
      word[`T3_RANGE_ACTION_SHARES] = 2;  // of the kernel, and of the upstream GPU
      set(`T3_RANGE_ACTION, word);
      word = 0;
      word[`T3_RANGE_PEERS_PEERS] = action == `T3_ACTION_OWN ? 0 : 1 << DOWNSTREAM_PEER;
      word[`T3_RANGE_PEERS_SLOT_OFFSET] = SLOT_OFFSET;
      set(`T3_RANGE_PEERS, word);
      word = 0;
      word[`T3_RANGE_COMMIT_INDEX] = index;
      word[`T3_RANGE_COMMIT_ENABLE] = 1;
      set(`T3_RANGE_COMMIT, word);
    end
  endtask

  task add_command(input [1:0] op, input [1:0] dtype);
    begin
      word = 0;
      word[`T3_COMMAND_TRANSFER_KIND] = `T3_PACKET_KIND_UPDATE;
      word[`T3_COMMAND_TRANSFER_MARKS] = 1;
      word[`T3_COMMAND_TRANSFER_OP] = op;
      word[`T3_COMMAND_TRANSFER_DTYPE] = dtype;
      word[`T3_COMMAND_TRANSFER_GRANULARITY] = `T3_GRANULARITY_WORKGROUP;
      word[`T3_COMMAND_TRANSFER_WAVE_INNER_LOG2] = WAVE_INNER_LOG2;
      word[`T3_COMMAND_TRANSFER_WAVES_INNER_LOG2] = 1;
      set(`T3_COMMAND_TRANSFER, word);
      set(`T3_COMMAND_OUTER, ROWS);
      set(`T3_COMMAND_INNER, RUN);
      set(`T3_COMMAND_STRIDE, STRIDE);
      word = 0;
      word[`T3_COMMAND_WAVES_WAVE_OUTER_EXTENT] = ROWS;
      word[`T3_COMMAND_WAVES_WAVES0] = WAVEFRONTS;
      set(`T3_COMMAND_WAVES, word);
      set(`T3_COMMAND_OFFSET_LO, OFFSET_ATOMS * ATOM_BYTES);
      set(`T3_COMMAND_COMMIT, 0);
    end
  endtask

  task add_peer(input integer index, input integer gpu, input [3:0] space);
    begin
      word = 0;
      word[`T3_PEER_GPU] = gpu;
      word[`T3_PEER_RANK] = gpu;  // in a ring of all GPUs
      word[`T3_PEER_SPACE] = space;
      word[`T3_PEER_SENDS_UPDATES] = index == DOWNSTREAM_PEER;
      word[`T3_PEER_TAKES_UPDATES] = index == UPSTREAM_PEER;
      set(`T3_PEER, word);
      word = 0;
      word[`T3_PEER_COMMIT_INDEX] = index;
      word[`T3_PEER_COMMIT_ENABLE] = 1;
      set(`T3_PEER_COMMIT, word);
    end
  endtask

  task program_context(input integer number, input [3:0] space, input [3:0] downstream_space,
                       input integer region_atom, input [1:0] op, input [1:0] dtype);
    begin
      page = CONTEXT_PAGE * number;
      word = 0;
      word[`T3_ADDRESS_SPACE_LOCAL] = space;
      word[`T3_ADDRESS_SPACE_ENABLE] = 1;
      set(`T3_ADDRESS_SPACE, word);
      set(`T3_RANK, GPU);
      add_peer(DOWNSTREAM_PEER, DOWNSTREAM_GPU, downstream_space);
      add_peer(UPSTREAM_PEER, UPSTREAM_GPU, 0);

      set(`T3_WORKGROUPS, WORKGROUPS);
      set(`T3_TRACKED_FIRST, REMOTE);
      set(`T3_TRACKED_END, WORKGROUPS);
      set(`T3_TO_SEND, SENT);
      set(`T3_CREDIT_WINDOW, WORKGROUPS);
      set(`T3_COMMAND_WINDOW, 2 * WORKGROUPS);

      set(`T3_REGION_BASE_LO, region_atom * ATOM_BYTES);
      set(`T3_REGION_LIMIT_LO, (region_atom + REGION_ATOMS) * ATOM_BYTES);
      word = 0;
      word[`T3_REGION_COMMIT_ENABLE] = 1;
      set(`T3_REGION_COMMIT, word);

      add_command(op, dtype);
      add_range(0, 0, REMOTE - 1, `T3_ACTION_REMOTE);
      add_range(1, REMOTE, SENT - 1, `T3_ACTION_DMA);
      add_range(2, SENT, WORKGROUPS - 1, `T3_ACTION_OWN);
    end
  endtask

  task reset_epochs(input integer number);  // after a reset, once the memory holds no epochs
    begin
      page = CONTEXT_PAGE * number;
      word = 0;
      word[`T3_EPOCH_RESET_RESTART] = 1;
      set(`T3_EPOCH_RESET, word);
    end
  endtask

  task launch(input integer number, input [3:0] generation);
    begin
      page = CONTEXT_PAGE * number;
      word = 0;
      word[`T3_TRACKING_GENERATION] = generation;
      set(`T3_TRACKING, word);
      word = 0;
      word[`T3_CONTROL_LAUNCH] = 1;
      set(`T3_CONTROL, word);
    end
  endtask

  task abort(input integer number);
    begin
      page = CONTEXT_PAGE * number;
      word = 0;
      word[`T3_CONTROL_ABORT] = 1;
      set(`T3_CONTROL, word);
    end
  endtask

  task fail(input [8*64-1:0] problem);
    begin
      $display("FAIL: %0s", problem);
      $fatal(1);
    end
  endtask
endmodule
