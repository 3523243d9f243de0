// Checker of the commands to the DRAM. It records the time of each command and checks every delay
// between commands. It shares only the numbers of the standard with the controller.
`include "t3_layouts.vh"
`include "dram_layouts.vh"
`include "dram_standard.vh"

module dram_checker (
  input wire clk,
  input wire rst,
  input wire row_valid,
  input wire [`DRAM_ROW_COMMAND_BITS-1:0] row_command,
  input wire [`DRAM_BANK_BITS-1:0] row_bank,
  input wire column_valid,
  input wire [`T3_DRAM_ACCESS_BITS-1:0] column_access,
  input wire [`DRAM_BANK_BITS-1:0] column_bank
);
  localparam LONG_AGO = -1000000;
  localparam BANKS = `DRAM_BANKS, GROUPS = `DRAM_GROUPS;
  // The result of an update is stored later by the time for which its bank group is busy longer.
  localparam UPDATE_LATER = `DRAM_tCCD_WL - `DRAM_tCCD_L;
  // The burst of a write has ended.
  localparam WRITE_DATA = `DRAM_tCWL + `DRAM_tBURST;

  integer now = 0, refreshes = 0;
  integer activated [0:BANKS-1], precharged [0:BANKS-1], read [0:BANKS-1], written [0:BANKS-1];
  reg [BANKS-1:0] is_open = 0;
  integer refreshed = LONG_AGO;
  integer last_activates [0:3];
  integer index, group, since;

  // Counts for the bench: first column commands to an open row, further ones, turns of the data
  // bus.
  integer reads = 0, writes = 0, updates = 0, misses = 0, hits = 0, turns = 0;
  reg [BANKS-1:0] fresh = 0;
  reg writing = 0;

  task fail(input [8*16-1:0] delay);
    begin
      $display("FAIL: %0s between DRAM commands (clock %0d)", delay, now);
      $fatal(1);
    end
  endtask

  // Check the delay between an earlier command and a command in this cycle.
  task check(input integer earlier, input integer clocks, input [8*16-1:0] delay);
    if (now - earlier < clocks) fail(delay);
  endtask

  task check_activate;
    begin
      if (is_open[row_bank]) fail("row open");
      check(activated[row_bank], `DRAM_tRC, "tRC");
      check(precharged[row_bank], `DRAM_tRP, "tRP");
      check(refreshed, `DRAM_tRFC, "tRFC");
      check(last_activates[0], `DRAM_tACT, "tACT");
      check(last_activates[3], `DRAM_tFAW, "tFAW");
      for (index = 0; index < BANKS; index = index + 1)
        if (index % GROUPS == row_bank % GROUPS) check(activated[index], `DRAM_tRRD_L, "tRRD_L");
        else check(activated[index], `DRAM_tRRD_S, "tRRD_S");
    end
  endtask

  task check_precharge(input integer bank);
    begin
      check(activated[bank], `DRAM_tRAS, "tRAS");
      check(read[bank], `DRAM_tRTP, "tRTP");
      check(written[bank], WRITE_DATA + `DRAM_tWR, "tWR");
    end
  endtask

  integer group_column [0:GROUPS-1];  // per bank group: time of the last column command
  reg [GROUPS-1:0] group_updates = 0;  // per bank group: 1 if that was an update
  integer group_written [0:GROUPS-1];  // per bank group: time of the last write
  integer any_column = LONG_AGO, any_read = LONG_AGO, any_written = LONG_AGO;

  task check_column;
    begin
      group = column_bank % GROUPS;
      if (!is_open[column_bank]) fail("no row open");
      check(any_column, `DRAM_tCCD_S, "tCCD_S");
      if (group_updates[group]) check(group_column[group], `DRAM_tCCD_WL, "tCCD_WL");
      else check(group_column[group], `DRAM_tCCD_L, "tCCD_L");
      if (column_access == `T3_ACCESS_READ) begin
        check(activated[column_bank], `DRAM_tRCD_RD, "tRCD_RD");
        check(any_written, WRITE_DATA + `DRAM_tWTR_S, "tWTR_S");
        check(group_written[group], WRITE_DATA + `DRAM_tWTR_L, "tWTR_L");
      end else begin
        check(activated[column_bank], `DRAM_tRCD_WR, "tRCD_WR");
        check(any_read, `DRAM_tRTW, "tRTW");
      end
    end
  endtask

  task note_column;
    begin
      any_column = now;
      group_column[group] = now;
      group_updates[group] = column_access == `T3_ACCESS_UPDATE;
      if (column_access == `T3_ACCESS_READ) begin
        any_read = now;
        read[column_bank] = now;
        reads = reads + 1;
      end else begin
        since = now + (column_access == `T3_ACCESS_UPDATE ? UPDATE_LATER : 0);
        // A write after an update does not end the update's delay.
        if (since > any_written) any_written = since;
        if (since > group_written[group]) group_written[group] = since;
        if (since > written[column_bank]) written[column_bank] = since;
        if (column_access == `T3_ACCESS_UPDATE) updates = updates + 1;
        else writes = writes + 1;
      end
      if (fresh[column_bank]) misses = misses + 1;
      else hits = hits + 1;
      fresh[column_bank] = 0;
      if (writing != (column_access != `T3_ACCESS_READ)) turns = turns + 1;
      writing = column_access != `T3_ACCESS_READ;
    end
  endtask

  initial begin
    for (index = 0; index < BANKS; index = index + 1) begin
      activated[index] = LONG_AGO;
      precharged[index] = LONG_AGO;
      read[index] = LONG_AGO;
      written[index] = LONG_AGO;
    end
    for (index = 0; index < GROUPS; index = index + 1) begin
      group_column[index] = LONG_AGO;
      group_written[index] = LONG_AGO;
    end
    for (index = 0; index < 4; index = index + 1) last_activates[index] = LONG_AGO;
  end

  always @(posedge clk)
    if (!rst) begin
      now = now + 1;
      // Each REFRESH comes before the next one is due.
      if (now / `DRAM_tREFI > refreshes + 1) fail("tREFI");
      if (column_valid) begin
        check_column;
        note_column;
      end
      if (row_valid) begin
        check(last_activates[0], `DRAM_tACT, "tACT");
        case (row_command)
          `DRAM_ACTIVATE: begin
            check_activate;
            activated[row_bank] = now;
            for (index = 3; index > 0; index = index - 1)
              last_activates[index] = last_activates[index-1];
            last_activates[0] = now;
            is_open[row_bank] = 1;
            fresh[row_bank] = 1;
          end
          `DRAM_PRECHARGE: begin
            check_precharge(row_bank);
            precharged[row_bank] = now;
            is_open[row_bank] = 0;
          end
          `DRAM_PRECHARGE_ALL:
            for (index = 0; index < BANKS; index = index + 1) begin
              if (is_open[index]) begin
                check_precharge(index);
                precharged[index] = now;
              end
              is_open[index] = 0;
            end
          default: begin
            if (is_open != 0) fail("row open");
            check(refreshed, `DRAM_tRFC, "tRFC");
            for (index = 0; index < BANKS; index = index + 1) begin
              check(precharged[index], `DRAM_tRP, "tRP");
              check(activated[index], `DRAM_tRC, "tRC");
            end
            refreshed = now;
            refreshes = refreshes + 1;
          end
        endcase
      end
    end
endmodule
