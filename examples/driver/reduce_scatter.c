/* Part of one GPU in a ring reduce-scatter of a small kernel, with the C driver. */
#include "t3.h"

enum { BASE = 1 << 17, BYTES = 1 << 16 }; /* the kernel's output */

/* Reduce and send the stores of the kernel in hardware. */
int reduce_scatter(const struct t3_bus *bus, void (*run_kernel)(void))
{
    struct t3_context context = t3_context(bus, 0);
    /* Tiles of two rows of two atoms, by one wavefront each. */
    struct t3_transfer tile = {
        .rows = 2, .rows_edge = 2, .run_atoms = 2, .run_edge_atoms = 2, .stride_atoms = 8,
        .kind = T3_PACKET_KIND_UPDATE, .op = T3_OPERATION_SUM, .dtype = T3_DATATYPE_FP16,
        .wave_rows = 2, .wave_run_atoms_log2 = 15, .waves = {1, 1, 1, 1},
    };
    /* Six workgroups: two leave as they are stored, two when they are reduced, two stay. */
    struct t3_ring ring = {
        .workgroups = 6, .leaving = 2, .staying = 2, .credit_window = 4,
        .command_window = 8, .shares = 2, .generation = 5,
    };
    /* A ring of two GPUs: the other one is downstream and upstream. */
    struct t3_peer other = {
        .gpu = 0, .rank = 0, .space = 3, .sends_updates = 1, .takes_updates = 1};
    int result = t3_assign(&context, 3, T3_UNCHANGED); /* the address space of the kernel */
    if (!result) result = t3_reset_epochs(&context, 100000); /* the memory holds no epochs */
    if (!result) result = t3_set_rank(&context, 1);
    if (!result) result = t3_peer(&context, T3_DOWNSTREAM, &other);
    if (!result) result = t3_region(&context, 0, BASE, BASE + BYTES);
    if (!result) result = t3_reduce_scatter(&context, &ring, &tile, 0);
    if (!result) result = t3_launch(&context);
    if (result) return result;
    run_kernel();
    result = t3_wait(&context, 100000);
    return result ? result : t3_wait_idle(&context, 100000);
}
