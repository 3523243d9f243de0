/* The driver in C99: the calls of t3.driver, with the same meanings.
 *
 * Addresses are in bytes, multiples of 32; lengths of tiles in atoms of 32 bytes. A function that
 * can fail gives T3_OKAY, the reason why the hardware refused what was programmed (above 0, see
 * enum t3_configuration_error), or one of the negative results below.
 */
#ifndef T3_H
#define T3_H

#include <stdint.h>

#include "t3_codes.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { T3_OKAY = 0, T3_TIMEOUT = -1, T3_REPORTED = -2, T3_NOT_FOUND = -3, T3_REFUSED = -4 };

/* How the registers are reached. Addresses count from the block's first register. `write` gives
 * whether the hardware took the word, as far as the bus tells. */
struct t3_bus {
    void *self;
    int (*write)(void *self, uint32_t address, uint32_t word);
    uint32_t (*read)(void *self, uint32_t address);
};

/* Registers that are mapped into the program's memory: `self` is where the first one is. */
struct t3_bus t3_mapped(volatile void *registers);

/* A context of the hardware; `ranges` are those that are programmed. */
struct t3_context {
    const struct t3_bus *bus;
    unsigned number;
    unsigned ranges;
};

/* How a complete tile, or a copy, is walked over and sent. */
struct t3_transfer {
    uint32_t rows, rows_edge;         /* runs of a tile, and of one at the matrix edge */
    uint32_t run, run_edge;           /* atoms of a run, likewise */
    uint32_t stride;                  /* atoms from run to run */
    enum t3_packet_kind kind;
    enum t3_operation op;
    enum t3_datatype dtype;
    enum t3_granularity granularity;
    unsigned group_log2;              /* workgroups that are sent together */
    uint32_t wave_rows;               /* rows of a wavefront */
    unsigned wave_run_log2;           /* atoms of a wavefront in a run; 15: all of it */
    unsigned waves_inner_log2;        /* wavefronts beside each other in a run */
    unsigned waves[4];                /* of a workgroup: inner, at the rows' edge, the runs', both */
    int64_t offset;                   /* bytes from an atom here to that at the receiver */
};

/* A launch's workgroups, in their order of dispatch. */
struct t3_window {
    uint32_t workgroups, first_workgroup;
    uint32_t tracked_first, tracked_end;     /* dispatch indices that are updated here */
    uint32_t shift;                          /* to the same workgroup's at the receiver */
    uint32_t credit_window, command_window;  /* workgroups */
    uint32_t updates_per_atom;
    uint32_t generation;                     /* another one than that of the launch before */
};

/* A GPU's part in a ring reduce-scatter: the chunk dispatched first leaves, the last one stays. */
struct t3_ring {
    uint32_t workgroups, first_workgroup;
    uint32_t leaving, staying;
    uint32_t credit_window, command_window;
    uint32_t updates_per_atom;
    uint32_t generation;
};

/* What the arbiters go by; see ARBITER to LEVELS of the register map. */
struct t3_arbitration {
    enum t3_policy policy;
    int automatic;                           /* MCA's threshold from the measured occupancy */
    unsigned threshold;                      /* entries of the DRAM queue; 127: any */
    unsigned starvation_cycles;
    unsigned measure_log2;
    unsigned cuts[3], levels[3];
};

struct t3_error {
    enum t3_error_code code;
    unsigned dispatch_index, wavefront;
    unsigned channel, source;
    uint64_t address;
};

struct t3_chunk {
    uint64_t start;
    struct t3_transfer transfer;
};

/* Packets of all GPUs, updates of all operations or types. */
#define T3_ALL UINT32_MAX

/* Kinds of interrupts. */
enum { T3_DONE = 1, T3_IDLE = 2, T3_COPY = 4, T3_ERROR = 8, T3_LINK = 16 };

/* The number of contexts, or T3_NOT_FOUND if there is no T3 behind the bus. */
int t3_identify(const struct t3_bus *bus);
int t3_set_number(const struct t3_bus *bus, unsigned gpu);
int t3_arbitrate(const struct t3_bus *bus, const struct t3_arbitration *arbitration);
int t3_scrubbed(const struct t3_bus *bus);
/* The number of the next launch; from 256 on launches are refused, until t3_scrubbed. */
uint32_t t3_next_epoch(const struct t3_bus *bus);
/* From now on privileged software alone may write what is of the whole GPU. */
int t3_gpu_lock(const struct t3_bus *bus);
/* Lets the next word that is written into a memory have a wrong bit, or two, once; `instance` is
 * the number of the tracker bank, of the context, or of the channel. T3_REFUSED if there is none. */
int t3_inject(const struct t3_bus *bus, enum t3_inject_target target, unsigned instance,
              int two_bits);
/* Whether the word that t3_inject waits for has not come yet. */
int t3_armed(const struct t3_bus *bus);
/* Cycles in which a wrong bit was corrected. */
uint32_t t3_corrected(const struct t3_bus *bus);
/* Lets a walk over the memories correct wrong bits that nobody reads: a step at most every so many
 * cycles; 0 for none. */
int t3_patrol(const struct t3_bus *bus, unsigned interval_cycles);
/* Cycles in which the walk corrected a word. */
uint32_t t3_patrolled(const struct t3_bus *bus);
/* As those of a context below, for errors of no context. */
int t3_gpu_take_error(const struct t3_bus *bus, struct t3_error *error);
uint32_t t3_gpu_errors_of(const struct t3_bus *bus, enum t3_error_code code);
int t3_gpu_clear_errors(const struct t3_bus *bus);
int t3_gpu_interrupt_by(const struct t3_bus *bus, int error);
/* Whether there was an error since the last time; T3_REFUSED where a lock keeps it. */
int t3_gpu_take_interrupts(const struct t3_bus *bus);

struct t3_context t3_context(const struct t3_bus *bus, unsigned number);
/* The address space whose stores and packets are the context's, that of what it sends at the
 * receiver, and a bit for each of its ways of the tracker's sets; 0: the ways as they are. */
int t3_assign(struct t3_context *context, unsigned local, unsigned remote, uint32_t ways);
/* Which packets the context takes: a bit for each number of a GPU that may send stores, or updates,
 * and for each operation and type that an update may have; T3_ALL for all. */
int t3_accept(struct t3_context *context, uint32_t stores, uint32_t updates, uint32_t ops,
              uint32_t dtypes);
/* From now on privileged software alone may change regions, or whose the context is. */
int t3_lock(struct t3_context *context, int regions, int assignment);
int t3_region(struct t3_context *context, unsigned index, uint64_t base, uint64_t limit);
int t3_remove_region(struct t3_context *context, unsigned index);
int t3_command(struct t3_context *context, unsigned index, const struct t3_transfer *transfer,
               unsigned region);
int t3_unmap(struct t3_context *context);
int t3_remote_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
                  unsigned command);
int t3_dma_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
               unsigned command);
int t3_own_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
               unsigned command);
int t3_window(struct t3_context *context, const struct t3_window *window);
int t3_reduce_scatter(struct t3_context *context, const struct t3_ring *ring,
                      const struct t3_transfer *transfer, unsigned region);
/* Reports TIMEOUT when for so many cycles no tile completes; 0: never. */
int t3_timeout(struct t3_context *context, uint32_t cycles);
int t3_launch(struct t3_context *context);
/* Has the arbiters measure the memory's occupancy, from which MCA takes its threshold. */
int t3_measure(struct t3_context *context);
int t3_copy(struct t3_context *context, uint64_t start, const struct t3_transfer *transfer,
            unsigned region);
int t3_all_gather(struct t3_context *context, const struct t3_chunk *chunks, unsigned count,
                  unsigned region, void (*arrived)(void *self, unsigned chunk), void *self);

/* T3_OKAY, T3_REPORTED if there are errors in the log, or T3_TIMEOUT after so many looks. */
int t3_wait(struct t3_context *context, unsigned long polls);
int t3_wait_idle(struct t3_context *context, unsigned long polls);
int t3_abort(struct t3_context *context, unsigned long polls);

/* STATUS, with its fields as in t3_registers.h. */
uint32_t t3_status(const struct t3_context *context);
/* Tiles that became complete, since reset. */
uint32_t t3_tiles(const struct t3_context *context);
/* Oldest dispatch index that is not complete. */
uint32_t t3_oldest(const struct t3_context *context);

/* Takes the oldest error out of the log: 1 if there was one, 0 if not, T3_REFUSED where a lock
 * keeps it there. */
int t3_take_error(struct t3_context *context, struct t3_error *error);
/* How often this happened; 65,535: as often or more; 0 also for what is not counted here. */
uint32_t t3_errors_of(const struct t3_context *context, enum t3_error_code code);
/* Forgets the log and all counts. */
int t3_clear_errors(struct t3_context *context);
int t3_interrupt_by(struct t3_context *context, unsigned kinds);
/* Which kinds happened since the last time. */
unsigned t3_take_interrupts(struct t3_context *context);

#ifdef __cplusplus
}
#endif

#endif
