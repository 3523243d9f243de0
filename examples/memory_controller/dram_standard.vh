// HBM2 at 1000 MHz: delays in clocks of 1 ns, with the names of the standard. The values are those
// of Ramulator 2.1 (commit c5b1c3a, HBM2_2000Mbps and HBM2_4Gb), as in
// sysmodel/config/memories/hbm2.toml.
`ifndef DRAM_STANDARD_VH
`define DRAM_STANDARD_VH

// Column commands of one bank group, and of different ones; tCCD_WL: after an update, twice tCCD_L.
`define DRAM_tCCD_S 2
`define DRAM_tCCD_L 4
`define DRAM_tCCD_WL 8
// ACTIVATE to ACTIVATE, window of four ACTIVATEs, and clocks of the row command bus per ACTIVATE.
`define DRAM_tRRD_S 4
`define DRAM_tRRD_L 4
`define DRAM_tFAW 15
`define DRAM_tACT 2
// ACTIVATE to READ, WRITE, PRECHARGE, the bank's next ACTIVATE; PRECHARGE to ACTIVATE.
`define DRAM_tRCD_RD 14
`define DRAM_tRCD_WR 12
`define DRAM_tRAS 34
`define DRAM_tRC 48
`define DRAM_tRP 14
// Command to data, and the burst of an atom: 4 words of 64 bits on both edges.
`define DRAM_tCL 14
`define DRAM_tCWL 5
`define DRAM_tBURST 2
// Turns of the data bus: READ to WRITE, tCL + tBURST + 2 - tCWL; end of a write's data to READ.
`define DRAM_tRTW 13
`define DRAM_tWTR_S 6
`define DRAM_tWTR_L 8
// READ to PRECHARGE, and end of a write's data to PRECHARGE.
`define DRAM_tRTP 5
`define DRAM_tWR 16
// Time between REFRESHes of all banks, and duration of one.
`define DRAM_tREFI 3900
`define DRAM_tRFC 260

`endif
