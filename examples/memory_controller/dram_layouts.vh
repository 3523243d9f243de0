// Commands and addresses of the DRAM. A column command is a T3_ACCESS.
`ifndef DRAM_LAYOUTS_VH
`define DRAM_LAYOUTS_VH

// Address of an atom, from the lowest bit: 128 bytes in a bank, the next 128 bytes in another bank
// group.
`define DRAM_ATOM_COLUMN(atom) {atom[6:4], atom[1:0]}
`define DRAM_ATOM_BANK(atom) {atom[8:7], atom[3:2]}
`define DRAM_ATOM_ROW_LOW 9
`define DRAM_COLUMN_BITS 5
// Banks are numbered so that the two low bits are the bank group.
`define DRAM_BANK_BITS 4
`define DRAM_BANKS 16
`define DRAM_GROUPS 4

`define DRAM_ROW_COMMAND_BITS 2
`define DRAM_ACTIVATE 2'd0
`define DRAM_PRECHARGE 2'd1
`define DRAM_PRECHARGE_ALL 2'd2
`define DRAM_REFRESH 2'd3

// Stored word of an atom: its data, and above them the epoch of its last update.
`define DRAM_WORD_BITS `T3_NMC_OUT_BITS
`define DRAM_WORD_DATA `T3_NMC_OUT_VALUE
`define DRAM_WORD_EPOCH `T3_NMC_OUT_EPOCH

`endif
