// Model of the L2, which makes reads and ordinary writes besides the tenants: it writes atoms of
// its own, and reads each one after the controller has acknowledged the issue of the write.
`include "t3_layouts.vh"

module l2 #(
  parameter FIRST_ATOM = 0,
  parameter ATOMS = 512,  // of several rows of all banks
  parameter [3:0] SPACE = 15  // of no context
) (
  input wire clk,
  output reg [`T3_STORES_BITS-1:0] store,
  output reg store_valid,
  input wire store_ready,
  input wire [`T3_DRAM_ATOM_BITS-1:0] written_atom,
  input wire written_valid,
  output reg [`T3_READS_BITS-1:0] fetch,
  output reg fetch_valid,
  input wire fetch_ready,
  input wire [`T3_DRAM_DATA_BITS-1:0] read_data,
  input wire [`T3_READS_TAG_BITS-1:0] read_tag,
  input wire read_valid
);
  localparam BATCH = 8;  // atoms written, then read

  reg running = 0, quiet = 1;
  integer batch = 0, checked = 0, index;
  reg [BATCH-1:0] written;
  reg [`T3_READS_TAG_BITS-1:0] tag = 0;
  initial {store, store_valid, fetch, fetch_valid} = 0;

  function [`T3_STORES_ATOM_BITS-1:0] atom_of(input integer at_batch, input integer at_index);
    atom_of = FIRST_ATOM + (37 * (BATCH * at_batch + at_index)) % ATOMS;
  endfunction

  function [`T3_STORES_DATA_BITS-1:0] data_of(input integer at_batch, input integer at_index);
    reg [31:0] word;
    begin
      word = 32'h9e3779b9 * (BATCH * at_batch + at_index + 1);  // differs from atom to atom
      data_of = {`T3_STORES_DATA_BITS / 32{word}};
    end
  endfunction

  task write_batch;
    begin
      written = 0;
      for (index = 0; index < BATCH; index = index + 1) begin
        store = 0;
        store[`T3_STORES_ATOM] = atom_of(batch, index);
        store[`T3_STORES_CONTEXT] = SPACE;
        store[`T3_STORES_DATA] = data_of(batch, index);
        store_valid = 1;
        while (!store_ready) @(negedge clk);
        @(negedge clk);
        store_valid = 0;
      end
    end
  endtask

  integer acknowledged;
  always @(posedge clk)
    if (written_valid)
      for (acknowledged = 0; acknowledged < BATCH; acknowledged = acknowledged + 1)
        if (written_atom == atom_of(batch, acknowledged)) written[acknowledged] = 1;

  task read(input integer atom, input [`T3_DRAM_DATA_BITS-1:0] expected);
    begin
      tag = tag + 1'b1;
      fetch[`T3_READS_ATOM] = atom;
      fetch[`T3_READS_TAG] = tag;
      fetch_valid = 1;
      while (!fetch_ready) @(negedge clk);
      @(negedge clk);
      fetch_valid = 0;
      while (!read_valid) @(negedge clk);
      if (read_tag != tag) fail("a read returned with a wrong tag");
      if (read_data != expected) fail("a read has a wrong value");
      @(negedge clk);
    end
  endtask

  always begin
    @(negedge clk);
    if (running) begin
      quiet = 0;
      write_batch;
      while (written != {BATCH{1'b1}}) @(negedge clk);
      for (index = 0; index < BATCH; index = index + 1) begin
        read(atom_of(batch, index), data_of(batch, index));
        checked = checked + 1;
      end
      batch = batch + 1;
      quiet = 1;
    end
  end

  task fail(input [8*64-1:0] problem);
    begin
      $display("FAIL: L2: %0s", problem);
      $fatal(1);
    end
  endtask
endmodule
