/* C99 driver, with the same calls as the Python driver.
 *
 * Addresses are in bytes, multiples of 32; the names of lengths end in their unit, and an atom has
 * 32 bytes. A function that can fail returns T3_OKAY, the reason for which the hardware refused a
 * write (above 0, see enum t3_configuration_error), or one of the negative results below.
 * T3_INVALID: a value does not fit its field, or is no code; nothing was written. T3_ABORTED: an
 * abort, perhaps by another program, ended the launch that was waited for. T3_REFUSED: the bus
 * reports an error, or a lock keeps an error in the log. T3_OTHER_VERSION: the driver does not work
 * with the hardware's version of the register interface; nothing was written, and t3_version has
 * both versions. T3_NOT_FOUND: no T3 is behind the bus; nothing was written.
 */
#ifndef T3_H
#define T3_H

#include <limits.h>
#include <stdint.h>

#include "t3_codes.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    T3_OKAY = 0,
    T3_TIMEOUT = -1,
    T3_REPORTED = -2,
    T3_NOT_FOUND = -3,
    T3_REFUSED = -4,
    T3_ABORTED = -5,
    T3_INVALID = -6,
    T3_OTHER_VERSION = -7
};

/* Access to the registers. Addresses count from the block's first register. `write` returns 0 if
 * the bus reports an error. The hardware also answers OKAY to a write that it refuses; the driver
 * reads the page's status instead. Reads and writes have the same privilege, so that software of
 * another privilege does not replace the result in between. */
struct t3_bus {
    void *self;
    int (*write)(void *self, uint32_t address, uint32_t word);
    uint32_t (*read)(void *self, uint32_t address);
};

/* Bus for registers that are mapped into memory, the first one at `registers`. */
struct t3_bus t3_mapped(volatile void *registers);

/* Versions of the register interface. The driver works with hardware of its own major version, and
 * of its own minor version or a later one. */
struct t3_versions {
    unsigned driver_major, driver_minor;
    unsigned hardware_major, hardware_minor;
};

/* Context of the hardware, made by t3_context. */
struct t3_context {
    const struct t3_bus *bus;
    int opened;      /* T3_OKAY, or the result of each call with this context */
    unsigned number; /* T3_NO_CONTEXT unless the context was opened */
    unsigned ranges; /* programmed ranges; T3_UNKNOWN before the first map */
    /* Cycles with refused packets that were not of the launch, during the last t3_wait or
     * t3_wait_idle, by code: warnings. The log has such packets, as far as it has space. */
    uint32_t refused[T3_ERROR_CODE_CODES];
    /* Error counters at the last comparison, and whether there was one. */
    uint32_t errors, counts[T3_ERROR_CODE_CODES];
    int compared;
};

#define T3_NO_CONTEXT UINT_MAX
#define T3_UNKNOWN UINT_MAX

/* Ways that t3_assign leaves as they are. */
#define T3_UNCHANGED INT64_C(-1)

/* Transfer of a complete tile, or of a copy. */
struct t3_transfer {
    uint32_t rows, rows_edge;         /* runs of a tile, and of one at the matrix edge */
    uint32_t run_atoms;               /* length of a run */
    uint32_t run_edge_atoms;          /* length of a run at the matrix edge */
    uint32_t stride_atoms;            /* distance from run to run */
    enum t3_packet_kind kind;         /* kind of the packets with data */
    int marks; /* the receiver tracks the tiles: a marker follows each wavefront's tile */
    enum t3_operation op;
    enum t3_datatype dtype;
    enum t3_granularity granularity;
    unsigned group_log2;              /* workgroups that are sent together */
    uint32_t wave_rows;               /* rows of a wavefront */
    unsigned wave_run_atoms_log2;     /* atoms of a wavefront in a run; 15: the whole run */
    unsigned waves_inner_log2;        /* wavefronts beside each other in a run */
    unsigned waves[4];                /* wavefronts up to the last one with atoms: inner, at the
                                       * edge of the rows, at the edge of the runs, at both edges */
    int64_t offset_bytes;             /* an atom's address at the receiver minus its address here */
};

/* Workgroups of a launch, in dispatch order. */
struct t3_window {
    uint32_t workgroups;
    uint32_t tracked_first, tracked_end;     /* first slot tracked here, and end of these slots */
    uint32_t to_send;                        /* workgroups whose tiles or stores leave */
    uint32_t credit_window, command_window;  /* in workgroups */
    uint32_t generation;                     /* 1 to 7 after the launch before, modulo 16 */
    int accumulate;                          /* the first update of an atom adds to the memory */
    uint32_t progress;                       /* slots, a power of two, after each of which the
                                              * interrupt T3_PROGRESS comes; 0: never */
};

/* Peer of a context: another GPU that runs its launches. */
struct t3_peer {
    unsigned gpu;                    /* number by which the network finds the GPU */
    unsigned rank;                   /* rank that packets of the peer carry */
    unsigned space;                  /* address space of the context's packets at the peer */
    int sends_stores, sends_updates; /* stores, or updates, may leave to the peer */
    int takes_stores, takes_updates; /* the context accepts stores, or updates, of the peer */
};

/* Peers of a GPU in a ring; with two GPUs, both are the same GPU. */
enum { T3_DOWNSTREAM = 0, T3_UPSTREAM = 1 };

/* Gate of workgroups that wait for a launch of another context of the same GPU, which t3_may_await
 * must name. A launch of up to seven generations before the context's current one counts, too,
 * unless the context was aborted since. */
struct t3_gate {
    unsigned context;    /* that is awaited */
    uint32_t generation; /* of the awaited launch */
    uint32_t slot;       /* the first workgroups start once all slots below it are complete */
    uint32_t workgroups; /* that start together; 0: the whole range */
    uint32_t slots;      /* that must be complete in addition for each further workgroups */
};

/* Receivers of stores or tiles that leave. */
struct t3_receivers {
    unsigned peers;      /* one bit for each receiver */
    int32_t slot_offset; /* a tile's slot at the receivers minus its dispatch index here */
};

/* Slots that follow each other, and whose tiles go the same way: of workgroups in dispatch order, or
 * of tiles that only arrive. Without peers, tiles stay. */
struct t3_part {
    uint32_t workgroups;
    int stores_leave;       /* stores leave for the peers; otherwise they update the memory here */
    unsigned shares;        /* contributions with which a tile that is updated here is complete */
    struct t3_receivers to; /* receivers of the stores, or of the complete tiles */
    const struct t3_gate *gate; /* gate for which the workgroups wait, or NULL */
    /* Transfer of its tiles; NULL: that of the collective. Parts with the same object share a command
     * template; there are three for tiles. */
    const struct t3_transfer *transfer;
};

/* Collective that the stores of a kernel drive, as one GPU takes part in it. */
struct t3_collective {
    const struct t3_part *parts; /* in the order of their slots */
    unsigned count;
    uint32_t tracked_first;      /* first slot whose tile becomes complete here */
    uint32_t unused;             /* slots at the beginning of the first part without a workgroup */
    uint32_t arriving;           /* slots at the end without a workgroup: tiles only arrive */
    uint32_t credit_window, command_window;
    uint32_t generation;
    int accumulate;              /* the first update of an atom adds to the memory */
    uint32_t progress;           /* as that of t3_window */
};

/* Part of a GPU in a ring reduce-scatter: the first chunk leaves, the last chunk stays. Stores and
 * tiles that leave go to the peer T3_DOWNSTREAM. */
struct t3_ring {
    uint32_t workgroups;
    uint32_t leaving, staying;
    uint32_t credit_window, command_window;
    uint32_t shares; /* contributions with which a tile is complete: the kernel's, the arriving */
    uint32_t generation;
};

/* Part of a GPU in an all-gather: the kernel makes the GPU's own chunk, whose complete tiles are
 * sent. Tiles that arrive are sent on, or stay. */
struct t3_gather {
    uint32_t own;
    uint32_t passed;        /* slots behind it whose arriving tiles are sent on, as in a ring */
    uint32_t arriving;      /* slots behind these whose arriving tiles stay */
    uint32_t before;        /* slots in front of the own chunk whose arriving tiles stay */
    struct t3_receivers to; /* of the tiles that are sent */
    uint32_t credit_window, command_window;
    uint32_t generation;
};

/* Part of a GPU in an all-to-all: the kernel's stores leave for the GPUs that need them. */
struct t3_exchange {
    const struct t3_part *sent; /* workgroups for each other GPU, and where their stores go */
    unsigned count;             /* at most one for each peer of a mask */
    uint32_t own;               /* workgroups behind these whose tiles stay */
    uint32_t arriving;          /* slots behind these, of the tiles that arrive */
    uint32_t credit_window, command_window;
    uint32_t generation;
};

/* Part of a GPU in a pipeline: its kernel's stores leave for the next stage, and tiles of the stage
 * before arrive. */
struct t3_send {
    uint32_t leaving;
    uint32_t arriving;      /* slots behind these; 0 at the first stage */
    struct t3_receivers to;
    uint32_t credit_window, command_window;
    uint32_t generation;
};

/* Part of a GPU in a ring reduce-scatter that an all-gather follows in the same launch: the complete
 * tiles of the chunk that stays are sent as stores. */
struct t3_overlap {
    struct t3_ring ring;
    uint32_t passed;   /* slots behind the workgroups whose arriving tiles are sent on */
    uint32_t arriving; /* slots behind these whose arriving tiles stay */
};

/* Configuration of the arbiters; see ARBITER to LEVELS of the register map. */
struct t3_arbitration {
    enum t3_policy policy;
    int automatic;                           /* MCA's threshold from the measured occupancy */
    unsigned threshold;                      /* entries of the DRAM queue; 127: no limit */
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
    uint64_t start_bytes;
    struct t3_transfer transfer;
};

/* Updates of all operations or types. */
#define T3_ALL UINT32_MAX

/* Kinds of interrupts. */
enum { T3_DONE = 1, T3_IDLE = 2, T3_COPY = 4, T3_ERROR = 8, T3_LINK = 16, T3_PROGRESS = 32 };

/* Reads the hardware's version, and returns it beside the driver's. */
struct t3_versions t3_version(const struct t3_bus *bus);
/* Returns the number of contexts, T3_NOT_FOUND or T3_OTHER_VERSION. Each call that writes to the
 * GPU's page makes the same check before. */
int t3_identify(const struct t3_bus *bus);
int t3_set_arbitration(const struct t3_bus *bus, const struct t3_arbitration *arbitration);
/* Locks the registers of the whole GPU for unprivileged software. */
int t3_gpu_lock(const struct t3_bus *bus);
/* Injects a single-bit or double-bit error into the next word written to a memory, once;
 * `instance` is the number of the tracker bank, of the context, or of the channel. Refused if the
 * memory does not exist. */
int t3_inject(const struct t3_bus *bus, enum t3_inject_target target, unsigned instance,
              int two_bits);
/* Returns 1 while an injection waits for its word. */
int t3_armed(const struct t3_bus *bus);
/* Cycles in which a bit error was corrected. */
uint32_t t3_corrected(const struct t3_bus *bus);
/* Sets the interval of the scrubbers, which correct bit errors in rarely read memories: at most
 * one step per interval; 0 disables them. */
int t3_scrub(const struct t3_bus *bus, unsigned interval_cycles);
/* Cycles in which a scrubber corrected a word. */
uint32_t t3_scrub_corrected(const struct t3_bus *bus);
/* Like the functions for a context below, for errors of no context. */
int t3_gpu_take_error(const struct t3_bus *bus, struct t3_error *error);
uint32_t t3_gpu_error_count(const struct t3_bus *bus, enum t3_error_code code);
int t3_gpu_clear_errors(const struct t3_bus *bus);
int t3_gpu_enable_interrupts(const struct t3_bus *bus, int error);
/* Clears the pending interrupt, and returns whether there was one; T3_REFUSED if a lock prevents
 * it. */
int t3_gpu_take_interrupts(const struct t3_bus *bus);

/* Makes a context. Each call with it is refused, or returns 0, if the hardware has no context of
 * this number (T3_INVALID), or if t3_identify fails (with its result). */
struct t3_context t3_context(const struct t3_bus *bus, unsigned number);
/* Assigns to the context the address space of its stores and packets, and ways of the tracker's
 * sets, one bit each; 0: no way; T3_UNCHANGED: the ways remain as they are. Refused if another
 * context has the address space or, for unprivileged software, one of the ways, and if the context
 * loses a way while it is not idle. */
int t3_assign(struct t3_context *context, unsigned local, int64_t ways);
/* Gives this GPU its rank among the GPUs of the context, which its packets carry; privileged. */
int t3_set_rank(struct t3_context *context, unsigned rank);
/* Defines a peer, to which packets may leave and of which packets are accepted; privileged. Refused
 * if the hardware has no such entry, or the context is not idle. A launch begins only while its
 * generation follows that of each peer by at most 7. */
int t3_peer(struct t3_context *context, unsigned index, const struct t3_peer *peer);
int t3_remove_peer(struct t3_context *context, unsigned index);
/* Sets the other contexts that the context may await in gates of its ranges, one bit each;
 * privileged. Before one of them gets another tenant, remove it. */
int t3_may_await(struct t3_context *context, unsigned contexts);
/* Sets the updates that the context accepts of its peers: one bit for each operation and data type;
 * T3_ALL for all. */
int t3_accept(struct t3_context *context, uint32_t ops, uint32_t dtypes);
/* Waits for the end of a reset or an abort, and restarts at epoch 1, once software has cleared the
 * epoch tags of the context's regions in memory: after each reset, and after 255 launches. */
int t3_reset_epochs(struct t3_context *context, unsigned long polls);
/* Epoch of the next launch; at 256, launches are refused until t3_reset_epochs. */
uint32_t t3_next_epoch(const struct t3_context *context);
/* Locks regions and the assignment of the context for unprivileged software, as after a reset, or
 * opens them to it; ends a hold. */
int t3_lock(struct t3_context *context, int regions, int assignment);
/* Locks everything, and stops launches: until t3_lock only privileged software launches, aborts and
 * copies, and no pending launch begins. An abort of a tenant has no effect. */
int t3_hold(struct t3_context *context);
/* Takes the context from its tenant: holds it, aborts it, and removes its regions, ranges, peers
 * and errors; privileged. T3_TIMEOUT if the context does not become idle, for example since its link
 * is stopped. Then assign the context, its peers and its regions to the next tenant, clear the epoch
 * tags of these regions in memory, and call t3_reset_epochs and t3_lock. */
int t3_hand_over(struct t3_context *context, unsigned long polls);
/* Bytes from `base_bytes` to `limit_bytes` - 1. Refused if another context has a part of them. */
int t3_region(struct t3_context *context, unsigned index, uint64_t base_bytes,
              uint64_t limit_bytes);
/* The same, but regions of other contexts may overlap; privileged. Refused with LOCKED if
 * unprivileged software wrote one of the bounds meanwhile. */
int t3_share_region(struct t3_context *context, unsigned index, uint64_t base_bytes,
                    uint64_t limit_bytes);
int t3_remove_region(struct t3_context *context, unsigned index);
int t3_command(struct t3_context *context, unsigned index, const struct t3_transfer *transfer,
               unsigned region);
/* Removes all ranges of the context, also those of other programs. The first map after t3_context
 * begins with it. */
int t3_unmap(struct t3_context *context);
/* Workgroups of a range wait for the slots of `gate`, unless it is NULL.
 * A tile that arrives in a slot of the range is complete with `shares` in total; 0: none arrives. */
int t3_remote_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
                  unsigned command, unsigned shares, struct t3_receivers to,
                  const struct t3_gate *gate);
/* A tile of these ranges is complete with end-of-tile markers of `shares` in total, at least 1. */
int t3_dma_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
               unsigned command, unsigned shares, struct t3_receivers to,
               const struct t3_gate *gate);
int t3_own_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
               unsigned command, unsigned shares, const struct t3_gate *gate);
/* These workgroups only wait; their stores into the region are ordinary writes. */
int t3_await_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
                 const struct t3_gate *gate);
int t3_window(struct t3_context *context, const struct t3_window *window);
int t3_collective(struct t3_context *context, const struct t3_collective *collective,
                  const struct t3_transfer *transfer, unsigned region);
int t3_reduce_scatter(struct t3_context *context, const struct t3_ring *ring,
                      const struct t3_transfer *transfer, unsigned region);
/* The packets of the transfer are stores in these calls, and behind the reduce-scatter of the last. */
int t3_all_gather(struct t3_context *context, const struct t3_gather *gather,
                  const struct t3_transfer *transfer, unsigned region);
int t3_all_to_all(struct t3_context *context, const struct t3_exchange *exchange,
                  const struct t3_transfer *transfer, unsigned region);
int t3_send(struct t3_context *context, const struct t3_send *send,
            const struct t3_transfer *transfer, unsigned region);
int t3_gemm_overlap(struct t3_context *context, const struct t3_overlap *overlap,
                    const struct t3_transfer *transfer, unsigned region);
/* Reports TIMEOUT after this number of cycles without a complete tile; 0: never. */
int t3_timeout(struct t3_context *context, uint32_t cycles);
int t3_launch(struct t3_context *context);
/* Has the arbiters measure the memory's occupancy, from which MCA takes its threshold. */
int t3_measure(struct t3_context *context);
/* Sends a part of a region as plain stores to each of the peers, one bit each. */
int t3_copy(struct t3_context *context, uint64_t start_bytes, const struct t3_transfer *transfer,
            unsigned region, unsigned peers);
/* Sends chunks by copies, each as soon as it has arrived. */
int t3_copy_chunks(struct t3_context *context, const struct t3_chunk *chunks, unsigned count,
                   unsigned region, unsigned peers,
                   void (*arrived)(void *self, unsigned chunk), void *self);

/* T3_OKAY, T3_TIMEOUT after `polls` polls, or T3_REPORTED if errors may have lost data of the
 * launch: errors since the last wait or abort with this `context`, or its first launch; without
 * these, all that are counted. Refused packets that are not of the launch are in
 * `context->refused`. t3_wait waits until no launch is running or pending; T3_ABORTED if an abort
 * ended one, and none was launched since. */
int t3_wait(struct t3_context *context, unsigned long polls);
int t3_wait_idle(struct t3_context *context, unsigned long polls);
int t3_abort(struct t3_context *context, unsigned long polls);

/* STATUS, with its fields as in t3_registers.h. */
uint32_t t3_status(const struct t3_context *context);
/* Number of complete tiles since reset. */
uint32_t t3_tiles(const struct t3_context *context);
/* Oldest dispatch index that is not complete. */
uint32_t t3_oldest(const struct t3_context *context);

/* Removes the oldest error from the log: 1 if there was one, 0 if not, T3_REFUSED if a lock
 * prevents it. */
int t3_take_error(struct t3_context *context, struct t3_error *error);
/* Counter of an error, which saturates at 65,535; 0 also for errors without a counter. */
uint32_t t3_error_count(const struct t3_context *context, enum t3_error_code code);
/* Returns 1 for an error that is a refused packet, not of the launch: the launch lost nothing. */
int t3_is_foreign(enum t3_error_code code);
/* Clears the log and all counters. */
int t3_clear_errors(struct t3_context *context);
int t3_enable_interrupts(struct t3_context *context, unsigned kinds);
/* Clears the pending interrupts, and returns their kinds. */
unsigned t3_take_interrupts(struct t3_context *context);

#ifdef __cplusplus
}
#endif

#endif
