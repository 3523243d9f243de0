// One memory channel of a GPU with T3 in it: T3 in front, the DRAM queue behind.
`include "t3_layouts.vh"

module memory_controller #(
  parameter ATOM_BITS = 10
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
  input  wire [`T3_STORES_BITS-1:0] stores__payload,
  input  wire stores__valid,
  output wire stores__ready,
  // Links: from the upstream GPU and to the downstream one, with their admission.
  input  wire [`T3_LINK_IN_BITS-1:0] link_in__payload,
  input  wire link_in__valid,
  output wire link_in__ready,
  output wire [`T3_LINK_OUT_BITS-1:0] link_out__payload,
  output wire link_out__valid,
  input  wire link_out__ready,
  input  wire link_room,
  input  wire [`T3_CONTEXT_CREDIT_LIMIT_IN_BITS-1:0] credit_limit_in,
  input  wire [`T3_CONTEXT_GENERATION_IN_BITS-1:0] generation_in,
  output wire [`T3_CONTEXT_CREDIT_LIMIT_OUT_BITS-1:0] credit_limit_out,
  output wire [`T3_CONTEXT_GENERATION_BITS-1:0] generation,
  // Room for stores that leave over the link, and the dispatcher.
  output wire stores_room,
  output wire [`T3_CONTEXT_DISPATCH_LIMIT_BITS-1:0] dispatch_limit,
  input  wire [`T3_CONTEXT_DISPATCHED_BITS-1:0] dispatched,
  input  wire [`T3_CONTEXT_FINISHED_BITS-1:0] finished,
  input  wire [`T3_CONTEXT_KERNEL_GENERATION_BITS-1:0] kernel_generation,
  output wire done,
  output wire idle,
  output wire irq
);
  wire [`T3_DRAM_BITS-1:0] dram__payload;
  wire dram__valid, dram__ready;
  wire [`T3_OCCUPANCY_BITS-1:0] occupancy;
  wire [`T3_ISSUE_ACKS_BITS-1:0] issue_acks__payload;
  wire issue_acks__valid, issue_acks__ready;
  wire [`T3_RETURNS_BITS-1:0] returns__payload;
  wire returns__valid;
  wire [`T3_NMC_IN_BITS-1:0] nmc_in__payload;
  wire nmc_in__valid;
  wire [`T3_NMC_OUT_BITS-1:0] nmc_out__payload;
  wire nmc_out__valid;
  wire irq_of_context, irq_of_none;
  assign irq = irq_of_context | irq_of_none;
  // Counters, of which software reads the one in a register.
  wire [`T3_STORED_BITS-1:0] stored;
  wire [`T3_CONTEXT_TILES_BITS-1:0] tiles;

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
    .channel__0__link_room(link_room),
    .channel__0__stores_room(stores_room),
    .channel__0__dram__payload(dram__payload),
    .channel__0__dram__valid(dram__valid),
    .channel__0__dram__ready(dram__ready),
    .channel__0__occupancy(occupancy),
    .channel__0__issue_acks__payload(issue_acks__payload),
    .channel__0__issue_acks__valid(issue_acks__valid),
    .channel__0__issue_acks__ready(issue_acks__ready),
    .channel__0__returns__payload(returns__payload),
    .channel__0__returns__valid(returns__valid),
    .channel__0__stored(stored),
    .channel__0__nmc_in__payload(nmc_in__payload),
    .channel__0__nmc_in__valid(nmc_in__valid),
    .channel__0__nmc_out__payload(nmc_out__payload),
    .channel__0__nmc_out__valid(nmc_out__valid),
    .context__0__credit_limit_in(credit_limit_in),
    .context__0__generation_in(generation_in),
    .context__0__credit_limit_out(credit_limit_out),
    .context__0__generation(generation),
    .context__0__dispatch_limit(dispatch_limit),
    .context__0__dispatched(dispatched),
    .context__0__finished(finished),
    .context__0__kernel_generation(kernel_generation),
    .context__0__tiles(tiles),
    .context__0__done(done),
    .context__0__idle(idle),
    .context__0__irq(irq_of_context),
    .irq(irq_of_none)
  );

  dram_queue #(
    .ATOM_BITS(ATOM_BITS)
  ) dram_queue (
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
    .read_data(read_data),
    .read_tag(read_tag),
    .read_valid(read_valid),
    .nmc_in__payload(nmc_in__payload),
    .nmc_in__valid(nmc_in__valid),
    .nmc_out__payload(nmc_out__payload),
    .nmc_out__valid(nmc_out__valid)
  );
endmodule
