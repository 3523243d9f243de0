// What both tenants of the bench compute: a reduce-scatter of eight workgroups, on one GPU of four.
// Dispatch indices 0 and 1 are remote: their stores leave for the downstream GPU as they are. 2 to 5
// are reduced here with what the upstream GPU sends, and sent on. 6 and 7 are reduced and stay.
localparam WORKGROUPS = 8, REMOTE = 2, TRACKED = 6, SENT = 6;  // sent on: 0 to 5
// A workgroup's tile: two rows of eight atoms, of which a wavefront has four in each row.
localparam ROWS = 2, RUN = 8, STRIDE = 64, WAVE_INNER_LOG2 = 2, WAVEFRONTS = 2;
localparam TILE_ATOMS = ROWS * RUN, WAVE_ATOMS = TILE_ATOMS / WAVEFRONTS;
localparam REGION_ATOMS = ROWS * STRIDE;
localparam FIRST_WORKGROUP = 3;
localparam ATOM_BYTES = 32;
localparam OFFSET_ATOMS = 4096;  // of the downstream GPU's buffers from ours
