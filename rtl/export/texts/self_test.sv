// {about}
// Tests the reset, the identification, a register write, and a read of the compute units, which must
// reach the DRAM queue within {most} cycles without any other output. Run it with
//   $ {command}
`timescale 1ns / 1ps
`include "{name}_registers.vh"
`include "{name}_layouts.vh"

module {name}_test;
  reg clk = 1'b0;
{declarations}
  always #1 clk = ~clk;
{ticks}
  {name} dut (
{connections}
  );

  reg [31:0] found;
  integer cycles;

  task fail(input [8 * 60 - 1:0] what);
    begin
      $display("FAIL: %0s", what);
      $fatal;
    end
  endtask

  task read_register(input [15:0] address);
    begin
      bus__araddr = address;
      bus__arvalid = 1'b1;
      @(posedge clk);
      while (!bus__arready) @(posedge clk);
      #0.1 bus__arvalid = 1'b0;
      while (!bus__rvalid) @(posedge clk);
      found = bus__rdata;
      if (bus__rresp != 2'b00) fail("a register cannot be read");
      @(posedge clk);
      #0.1;
    end
  endtask

  task write_register(input [15:0] address, input [31:0] value);
    begin
      bus__awaddr = address;
      bus__wdata = value;
      bus__wstrb = 4'hf;
      bus__awprot = 3'b001;
      bus__awvalid = 1'b1;
      bus__wvalid = 1'b1;
      @(posedge clk);
      while (!(bus__awready && bus__wready)) @(posedge clk);
      #0.1 bus__awvalid = 1'b0;
      bus__wvalid = 1'b0;
      while (!bus__bvalid) @(posedge clk);
      if (bus__bresp != 2'b00) fail("a register cannot be written");
      @(posedge clk);
      #0.1;
    end
  endtask

  initial begin
{reset}
    read_register(`{prefix}_ID);
    if (found != `{prefix}_ID_RESET) fail("the identification is wrong");
    read_register(`{prefix}_CONTEXTS);
    if (found[`{prefix}_CONTEXTS_COUNT] != {contexts}) fail("the number of contexts is wrong");
    write_register(`{prefix}_STARVATION, 32'd1234);
    read_register(`{prefix}_STARVATION);
    if (found != 32'd1234) fail("a register does not hold its value");

    {reads}__payload[`{prefix}_READS_ATOM] = 'h155;
    {reads}__payload[`{prefix}_READS_TAG] = 'h2a;
    {reads}__valid = 1'b1;
    @(posedge clk);
    while (!{reads}__ready) @(posedge clk);
    #0.1 {reads}__valid = 1'b0;
    cycles = 0;
    while (!{dram}__valid) begin
      @(posedge clk);
      cycles = cycles + 1;
      if (cycles > {most}) fail("the read does not reach the DRAM queue");
    end
    if ({dram}__payload[`{prefix}_DRAM_ACCESS] != `{prefix}_ACCESS_READ) fail("the access is not a read");
    if ({dram}__payload[`{prefix}_DRAM_ATOM] != 'h155) fail("the read has a wrong address");
    if ({dram}__payload[`{prefix}_DRAM_TAG] != 'h2a) fail("the read has a wrong tag");
    @(posedge clk);
    #0.1;
    for (cycles = 0; cycles < 4 * {tick_cycles}; cycles = cycles + 1) begin
      @(posedge clk);
      if ({dram}__valid) fail("there is a second access");
      if (irq) fail("there is an interrupt");
    end
    $display("PASS: {name}");
    $finish;
  end
endmodule
