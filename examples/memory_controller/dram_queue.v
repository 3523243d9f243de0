// The part of a memory controller behind T3: an in-order queue and the memory, one request at a
// time. A real one reorders; T3 asks only that it gives a issue_ack when it issues an update, or a
// write of the communication stream, and lets no later read of the atom overtake it.
`include "t3_layouts.vh"

module dram_queue #(
  parameter ATOM_BITS = 10,  // of the memory that is modelled
  parameter LATENCY = 20     // cycles from issue to data
) (
  input wire clk,
  input wire rst,
  // Requests from T3.
  input  wire [`T3_DRAM_BITS-1:0] dram__payload,
  input  wire dram__valid,
  output wire dram__ready,
  output reg  [`T3_OCCUPANCY_BITS-1:0] occupancy,
  // Issue issue_acks to T3.
  output reg  [`T3_ISSUE_ACKS_BITS-1:0] issue_acks__payload,
  output reg  issue_acks__valid,
  input  wire issue_acks__ready,
  // Data of T3's own reads.
  output reg  [`T3_RETURNS_BITS-1:0] returns__payload,
  output reg  returns__valid,
  // Data of the compute units' reads.
  output reg  [`T3_DRAM_DATA_BITS-1:0] read_data,
  output reg  [`T3_READS_TAG_BITS-1:0] read_tag,
  output reg  read_valid,
  // T3's reduce unit.
  output reg  [`T3_NMC_IN_BITS-1:0] nmc_in__payload,
  output reg  nmc_in__valid,
  input  wire [`T3_NMC_OUT_BITS-1:0] nmc_out__payload,
  input  wire nmc_out__valid
);
  localparam DEPTH_LOG2 = 4, DEPTH = 1 << DEPTH_LOG2;
  localparam IDLE = 2'd0, ACCESS = 2'd1, REDUCE = 2'd2;

  // Atoms with the epoch of their last update, which the reduce unit compares.
  reg [7:0] epochs [0:(1 << ATOM_BITS) - 1];
  reg [`T3_DRAM_DATA_BITS-1:0] atoms [0:(1 << ATOM_BITS) - 1];

  reg [`T3_DRAM_BITS-1:0] queue [0:DEPTH-1];
  reg [DEPTH_LOG2-1:0] head, tail;
  reg [1:0] state;
  reg [7:0] wait_cycles;
  wire take = dram__valid && dram__ready;
  wire issue = state == IDLE && occupancy != 0 && (!issue_acks__valid || issue_acks__ready);
  assign dram__ready = occupancy != DEPTH;

  wire [`T3_DRAM_BITS-1:0] request = queue[head];
  wire [1:0] access = request[`T3_DRAM_ACCESS];
  wire origin = request[`T3_DRAM_ORIGIN];
  reg [`T3_DRAM_BITS-1:0] active;  // issued, its data is on the way
  wire [`T3_DRAM_ATOM_BITS-1:0] active_atom = active[`T3_DRAM_ATOM];
  wire [ATOM_BITS-1:0] address = active_atom[ATOM_BITS-1:0];
  wire active_origin = active[`T3_DRAM_ORIGIN];
  wire [`T3_DRAM_TAG_BITS-1:0] active_tag = active[`T3_DRAM_TAG];
  integer index;

  initial begin
    for (index = 0; index < 1 << ATOM_BITS; index = index + 1) begin
      atoms[index] = {8{32'hdeadbeef}};  // what an earlier kernel left there
      epochs[index] = 0;
    end
  end

  always @(posedge clk) begin
    returns__valid <= 0;
    read_valid <= 0;
    nmc_in__valid <= 0;
    if (issue_acks__ready) issue_acks__valid <= 0;
    if (take) begin
      queue[tail] <= dram__payload;
      tail <= tail + 1'b1;
    end
    occupancy <= occupancy + {6'd0, take} - {6'd0, issue};

    case (state)
      IDLE:
        if (issue) begin
          head <= head + 1'b1;
          active <= request;
          wait_cycles <= LATENCY;
          state <= ACCESS;
          if (access == `T3_ACCESS_UPDATE
              || access == `T3_ACCESS_WRITE && origin == `T3_ORIGIN_COMMUNICATION) begin
            issue_acks__valid <= 1;
            issue_acks__payload[`T3_ISSUE_ACKS_ACCESS] <= access;
            issue_acks__payload[`T3_ISSUE_ACKS_ATOM] <= request[`T3_DRAM_ATOM];
            issue_acks__payload[`T3_ISSUE_ACKS_DISPATCH_INDEX] <= request[`T3_DRAM_DISPATCH_INDEX];
            issue_acks__payload[`T3_ISSUE_ACKS_WAVEFRONT] <= request[`T3_DRAM_WAVEFRONT];
          end
        end
      ACCESS:
        if (wait_cycles != 0) wait_cycles <= wait_cycles - 1'b1;
        else begin
          state <= IDLE;
          case (active[`T3_DRAM_ACCESS])
            `T3_ACCESS_READ:
              if (active_origin == `T3_ORIGIN_COMMUNICATION) begin
                returns__valid <= 1;
                returns__payload[`T3_RETURNS_SLOT] <= active_tag[`T3_RETURNS_SLOT_BITS-1:0];
                returns__payload[`T3_RETURNS_DATA] <= atoms[address];
              end else begin
                read_valid <= 1;
                read_tag <= active_tag[`T3_READS_TAG_BITS-1:0];
                read_data <= atoms[address];
              end
            `T3_ACCESS_WRITE:
              atoms[address] <= active[`T3_DRAM_DATA];
            default: begin
              nmc_in__valid <= 1;
              nmc_in__payload[`T3_NMC_IN_STORED] <= atoms[address];
              nmc_in__payload[`T3_NMC_IN_STORED_EPOCH] <= epochs[address];
              nmc_in__payload[`T3_NMC_IN_OPERAND] <= active[`T3_DRAM_DATA];
              nmc_in__payload[`T3_NMC_IN_OP] <= active[`T3_DRAM_OP];
              nmc_in__payload[`T3_NMC_IN_DTYPE] <= active[`T3_DRAM_DTYPE];
              state <= REDUCE;
            end
          endcase
        end
      default:
        if (nmc_out__valid) begin
          atoms[address] <= nmc_out__payload[`T3_NMC_OUT_VALUE];
          epochs[address] <= nmc_out__payload[`T3_NMC_OUT_EPOCH];
          state <= IDLE;
        end
    endcase

    if (rst) begin
      state <= IDLE;
      occupancy <= 0;
      head <= 0;
      tail <= 0;
      issue_acks__valid <= 0;
      // A payload that is unknown beside a valid of 0 makes simulators see unknown bits spread.
      returns__payload <= 0;
      issue_acks__payload <= 0;
      nmc_in__payload <= 0;
    end
  end
endmodule
