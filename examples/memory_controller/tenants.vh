// Computation of both tenants: a reduce-scatter of eight workgroups on one of four GPUs. Dispatch
// indices 0 and 1 are remote: their stores leave for the downstream GPU. Tiles 2 to 5 are reduced
// with the partial results from the upstream GPU and sent. Tiles 6 and 7 are reduced and stay.
localparam WORKGROUPS = 8, REMOTE = 2, TRACKED = 6, SENT = 6;  // sent on: 0 to 5
// A workgroup's tile: two rows of eight atoms, of which a wavefront has four in each row.
localparam ROWS = 2, RUN = 8, STRIDE = 64, WAVE_INNER_LOG2 = 2, WAVEFRONTS = 2;
localparam TILE_ATOMS = ROWS * RUN, WAVE_ATOMS = TILE_ATOMS / WAVEFRONTS;
localparam REGION_ATOMS = ROWS * STRIDE;
localparam FIRST_TILE = 3;  // of the output: the tile of dispatch index 0
// From a dispatch index to the slot at the downstream GPU: the own chunk.
localparam SLOT_OFFSET = 2;
// This GPU and its peers in the ring, and their places in the table of peers.
localparam GPU = 1, DOWNSTREAM_GPU = 0, UPSTREAM_GPU = 2, DOWNSTREAM_PEER = 0, UPSTREAM_PEER = 1;
localparam ATOM_BYTES = 32;
localparam OFFSET_ATOMS = 4096;  // between the buffers of this GPU and those of the downstream GPU
