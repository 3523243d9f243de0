// Memory channel of a GPU: T3, followed by the DRAM controller. T3 has two contexts; in their
// ports, context 0 has the low bits.
`include "t3_layouts.vh"
`include "dram_layouts.vh"

module memory_controller #(
  parameter ATOM_BITS = 12,  // of the installed memory
  parameter ROW_BITS = ATOM_BITS - `DRAM_ATOM_ROW_LOW
) (
  input wire clk,
  input wire rst,
  // Registers, AXI4-Lite.
  input  wire [15:0] bus__awaddr,
  input  wire [2:0] bus__awprot,
  input  wire bus__awvalid,
  output wire bus__awready,
  input  wire [31:0] bus__wdata,
  input  wire [3:0] bus__wstrb,
  input  wire bus__wvalid,
  output wire bus__wready,
  output wire [1:0] bus__bresp,
  output wire bus__bvalid,
  input  wire bus__bready,
  input  wire [15:0] bus__araddr,
  input  wire [2:0] bus__arprot,
  input  wire bus__arvalid,
  output wire bus__arready,
  output wire [31:0] bus__rdata,
  output wire [1:0] bus__rresp,
  output wire bus__rvalid,
  input  wire bus__rready,
  // Compute units, through the L2.
  input  wire [`T3_READS_BITS-1:0] reads__payload,
  input  wire reads__valid,
  output wire reads__ready,
  output wire [`T3_DRAM_DATA_BITS-1:0] read_data,
  output wire [`T3_READS_TAG_BITS-1:0] read_tag,
  output wire read_valid,
  output wire [`T3_DRAM_ATOM_BITS-1:0] written_atom,  // an ordinary write is issued
  output wire written_valid,
  input  wire [`T3_STORES_BITS-1:0] stores__payload,
  input  wire stores__valid,
  output wire stores__ready,
  // Links from and to the peers, with the peers' admission.
  input  wire [`T3_LINK_IN_BITS-1:0] link_in__payload,
  input  wire link_in__valid,
  output wire link_in__ready,
  output wire [`T3_LINK_OUT_BITS-1:0] link_out__payload,
  output wire link_out__valid,
  input  wire link_out__ready,
  input  wire [`T3_LINK_SPACE_BITS-1:0] link_space,
  input  wire link_down,
  input  wire link_reset,
  input  wire [2*`T3_CONTEXT_CREDIT_LIMIT_IN_BITS-1:0] credit_limit_in,
  input  wire [2*`T3_CONTEXT_GENERATION_IN_BITS-1:0] generation_in,
  input  wire [2*`T3_CONTEXT_ABORTED_IN_BITS-1:0] aborted_in,
  output wire [2*`T3_CONTEXT_CREDIT_LIMIT_OUT_BITS-1:0] credit_limit_out,
  output wire [2*`T3_CONTEXT_GENERATION_BITS-1:0] generation,
  output wire [2*`T3_CONTEXT_ABORTED_BITS-1:0] aborted,
  // Space for stores that leave over the link, and the dispatcher.
  output wire [`T3_STORE_SPACE_BITS-1:0] store_space,
  output wire [2*`T3_CONTEXT_DISPATCH_LIMIT_BITS-1:0] dispatch_limit,
  input  wire [2*`T3_CONTEXT_DISPATCHED_BITS-1:0] dispatched,
  input  wire [2*`T3_CONTEXT_FINISHED_BITS-1:0] finished,
  input  wire [2*`T3_CONTEXT_KERNEL_GENERATION_BITS-1:0] kernel_generation,
  output wire [1:0] done,
  output wire [1:0] idle,
  output wire [2:0] irq,  // of the contexts, and of unowned errors
  // DRAM: commands, data at their times after the commands, and results of its reduce unit.
  output wire row_valid,
  output wire [`DRAM_ROW_COMMAND_BITS-1:0] row_command,
  output wire [`DRAM_BANK_BITS-1:0] row_bank,
  output wire [ROW_BITS-1:0] row_row,
  output wire column_valid,
  output wire [`T3_DRAM_ACCESS_BITS-1:0] column_access,
  output wire [`DRAM_BANK_BITS-1:0] column_bank,
  output wire [`DRAM_COLUMN_BITS-1:0] column_column,
  output wire [`DRAM_WORD_BITS-1:0] write_word,
  input  wire [`DRAM_WORD_BITS-1:0] read_word,
  input  wire [`DRAM_WORD_BITS-1:0] stored_word,
  output wire [`T3_NMC_OUT_BITS-1:0] nmc_out__payload,
  output wire nmc_out__valid
);
  wire [`T3_DRAM_BITS-1:0] dram__payload;
  wire dram__valid, dram__ready;
  wire [`T3_OCCUPANCY_BITS-1:0] occupancy;
  wire [`T3_ISSUE_ACKS_BITS-1:0] issue_acks__payload;
  wire issue_acks__valid, issue_acks__ready;
  wire [`T3_RETURNS_BITS-1:0] returns__payload;
  wire returns__valid;
  wire memory_owes;
  wire [`T3_NMC_IN_BITS-1:0] nmc_in__payload;
  wire nmc_in__valid;
  // Unused outputs: software reads the tiles in a register, and no link can be taken down.
  wire [`T3_STORED_BITS-1:0] stored;
  wire [`T3_LINK_OWNER_BITS-1:0] link_owner;
  wire [2*`T3_CONTEXT_TILES_BITS-1:0] tiles;
  wire link_off;

  // Timebase of T3: one tick in 64 clocks.
  reg [5:0] clocks;
  wire tick = &clocks;
  always @(posedge clk)
    if (rst) clocks <= 0;
    else clocks <= clocks + 1'b1;

  t3 t3 (
    .clk(clk),
    .rst(rst),
    .bus__awaddr(bus__awaddr),
    .bus__awprot(bus__awprot),
    .bus__awvalid(bus__awvalid),
    .bus__awready(bus__awready),
    .bus__wdata(bus__wdata),
    .bus__wstrb(bus__wstrb),
    .bus__wvalid(bus__wvalid),
    .bus__wready(bus__wready),
    .bus__bresp(bus__bresp),
    .bus__bvalid(bus__bvalid),
    .bus__bready(bus__bready),
    .bus__araddr(bus__araddr),
    .bus__arprot(bus__arprot),
    .bus__arvalid(bus__arvalid),
    .bus__arready(bus__arready),
    .bus__rdata(bus__rdata),
    .bus__rresp(bus__rresp),
    .bus__rvalid(bus__rvalid),
    .bus__rready(bus__rready),
    .channel__0__reads__payload(reads__payload),
    .channel__0__reads__valid(reads__valid),
    .channel__0__reads__ready(reads__ready),
    .channel__0__stores__payload(stores__payload),
    .channel__0__stores__valid(stores__valid),
    .channel__0__stores__ready(stores__ready),
    .channel__0__link_in__payload(link_in__payload),
    .channel__0__link_in__valid(link_in__valid),
    .channel__0__link_in__ready(link_in__ready),
    .channel__0__link_out__payload(link_out__payload),
    .channel__0__link_out__valid(link_out__valid),
    .channel__0__link_out__ready(link_out__ready),
    .channel__0__link_owner(link_owner),
    .channel__0__link_space(link_space),
    .channel__0__link_down(link_down),
    .channel__0__link_reset(link_reset),
    .channel__0__store_space(store_space),
    .channel__0__dram__payload(dram__payload),
    .channel__0__dram__valid(dram__valid),
    .channel__0__dram__ready(dram__ready),
    .channel__0__occupancy(occupancy),
    .channel__0__issue_acks__payload(issue_acks__payload),
    .channel__0__issue_acks__valid(issue_acks__valid),
    .channel__0__issue_acks__ready(issue_acks__ready),
    .channel__0__returns__payload(returns__payload),
    .channel__0__returns__valid(returns__valid),
    .channel__0__memory_owes(memory_owes),
    .channel__0__stored(stored),
    .channel__0__nmc_in__payload(nmc_in__payload),
    .channel__0__nmc_in__valid(nmc_in__valid),
    .channel__0__nmc_out__payload(nmc_out__payload),
    .channel__0__nmc_out__valid(nmc_out__valid),
    .context__0__credit_limit_in(credit_limit_in[0+:`T3_CONTEXT_CREDIT_LIMIT_IN_BITS]),
    .context__0__generation_in(generation_in[0+:`T3_CONTEXT_GENERATION_IN_BITS]),
    .context__0__credit_limit_out(credit_limit_out[0+:`T3_CONTEXT_CREDIT_LIMIT_OUT_BITS]),
    .context__0__generation(generation[0+:`T3_CONTEXT_GENERATION_BITS]),
    .context__0__aborted_in(aborted_in[0+:`T3_CONTEXT_ABORTED_IN_BITS]),
    .context__0__aborted(aborted[0+:`T3_CONTEXT_ABORTED_BITS]),
    .context__0__dispatch_limit(dispatch_limit[0+:`T3_CONTEXT_DISPATCH_LIMIT_BITS]),
    .context__0__dispatched(dispatched[0+:`T3_CONTEXT_DISPATCHED_BITS]),
    .context__0__finished(finished[0+:`T3_CONTEXT_FINISHED_BITS]),
    .context__0__kernel_generation(kernel_generation[0+:`T3_CONTEXT_KERNEL_GENERATION_BITS]),
    .context__0__lost(1'b0),  // these links drop no packet
    .context__0__lost_gpu({`T3_CONTEXT_LOST_GPU_BITS{1'b0}}),
    .context__0__tiles(tiles[0+:`T3_CONTEXT_TILES_BITS]),
    .context__0__done(done[0]),
    .context__0__idle(idle[0]),
    .context__0__irq(irq[0]),
    .context__1__credit_limit_in(credit_limit_in[`T3_CONTEXT_CREDIT_LIMIT_IN_BITS+:`T3_CONTEXT_CREDIT_LIMIT_IN_BITS]),
    .context__1__generation_in(generation_in[`T3_CONTEXT_GENERATION_IN_BITS+:`T3_CONTEXT_GENERATION_IN_BITS]),
    .context__1__credit_limit_out(credit_limit_out[`T3_CONTEXT_CREDIT_LIMIT_OUT_BITS+:`T3_CONTEXT_CREDIT_LIMIT_OUT_BITS]),
    .context__1__generation(generation[`T3_CONTEXT_GENERATION_BITS+:`T3_CONTEXT_GENERATION_BITS]),
    .context__1__aborted_in(aborted_in[`T3_CONTEXT_ABORTED_IN_BITS+:`T3_CONTEXT_ABORTED_IN_BITS]),
    .context__1__aborted(aborted[`T3_CONTEXT_ABORTED_BITS+:`T3_CONTEXT_ABORTED_BITS]),
    .context__1__dispatch_limit(dispatch_limit[`T3_CONTEXT_DISPATCH_LIMIT_BITS+:`T3_CONTEXT_DISPATCH_LIMIT_BITS]),
    .context__1__dispatched(dispatched[`T3_CONTEXT_DISPATCHED_BITS+:`T3_CONTEXT_DISPATCHED_BITS]),
    .context__1__finished(finished[`T3_CONTEXT_FINISHED_BITS+:`T3_CONTEXT_FINISHED_BITS]),
    .context__1__kernel_generation(kernel_generation[`T3_CONTEXT_KERNEL_GENERATION_BITS+:`T3_CONTEXT_KERNEL_GENERATION_BITS]),
    .context__1__lost(1'b0),  // these links drop no packet
    .context__1__lost_gpu({`T3_CONTEXT_LOST_GPU_BITS{1'b0}}),
    .context__1__tiles(tiles[`T3_CONTEXT_TILES_BITS+:`T3_CONTEXT_TILES_BITS]),
    .context__1__done(done[1]),
    .context__1__idle(idle[1]),
    .context__1__irq(irq[1]),
    .tick(tick),
    .irq(irq[2]),
    .link_off(link_off)
  );

  dram_controller #(
    .ATOM_BITS(ATOM_BITS)
  ) dram_controller (
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
endmodule
