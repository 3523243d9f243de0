#include "t3.h"

#include <stddef.h>
#include <string.h>

#include "t3_registers.h"

#define ADDRESS(name) ((uint32_t)offsetof(t3_t, name))
#define OF_CONTEXT(context, name)                                                                  \
    (ADDRESS(context[0].name) + (uint32_t)sizeof(((t3_t *)0)->context[0]) * (context)->number)
/* Extract a field of a word. */
#define GET(page, field, word) (((word) & page##__##field##_bm) >> page##__##field##_bp)
#define FIELD_OF(field, word) GET(T3__CONTEXT, field, word)

/* Command templates that the driver uses. */
enum { TILES = 0, COPIES = 1 };
/* Command templates for the tiles of a collective. */
static const unsigned TILE_COMMANDS[] = {TILES, 2, 3};
enum { MOST_TRANSFERS = sizeof(TILE_COMMANDS) / sizeof(*TILE_COMMANDS) };

static const struct t3_receivers no_receiver = {0, 0};

/* Ranges that a context may have; the hardware refuses the indices of those that it lacks. */
enum { MOST_RANGES = 1 << T3__CONTEXT__RANGE_COMMIT__INDEX_bw };

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int result_ = (call);                                                                      \
        if (result_ != T3_OKAY) return result_;                                                    \
    } while (0)

static int mapped_write(void *self, uint32_t address, uint32_t word)
{
    ((volatile uint32_t *)self)[address / 4] = word;
    return 1;
}

static uint32_t mapped_read(void *self, uint32_t address)
{
    return ((volatile uint32_t *)self)[address / 4];
}

struct t3_bus t3_mapped(volatile void *registers)
{
    struct t3_bus bus = {(void *)registers, mapped_write, mapped_read};
    return bus;
}

static uint32_t get(const struct t3_bus *bus, uint32_t address)
{
    return bus->read(bus->self, address);
}

struct t3_versions t3_version(const struct t3_bus *bus)
{
    const uint32_t found = get(bus, ADDRESS(VERSION));
    struct t3_versions versions = {
        .driver_major = T3__VERSION__MAJOR_reset,
        .driver_minor = T3__VERSION__MINOR_reset,
        .hardware_major = GET(T3, VERSION__MAJOR, found),
        .hardware_minor = GET(T3, VERSION__MINOR, found),
    };
    return versions;
}

/* Check that T3 is behind the bus, and that the driver works with its version. */
static int check_version(const struct t3_bus *bus)
{
    struct t3_versions versions;
    if (get(bus, ADDRESS(ID)) != T3__ID__ID_reset) return T3_NOT_FOUND;
    versions = t3_version(bus);
    if (versions.hardware_major != versions.driver_major) return T3_OTHER_VERSION;
    if (versions.hardware_minor < versions.driver_minor) return T3_OTHER_VERSION;
    return T3_OKAY;
}

static uint32_t get_of(const struct t3_context *context, uint32_t address)
{
    return context->opened == T3_OKAY ? get(context->bus, address) : 0;
}

/* Writes of a call, which are all checked before the first of them is made. */
struct plan {
    struct {
        uint32_t address, word;
        int reported; /* the page's status shows whether the write was refused */
    } writes[32];
    unsigned count;
    int invalid;
};

/* Check that a value fits a field, and insert it. */
static uint32_t field(struct plan *plan, uint64_t value, uint32_t mask, unsigned shift)
{
    if (value > mask >> shift) plan->invalid = 1;
    return (uint32_t)value << shift & mask;
}

/* Check that a code is one of the first `codes` ones. */
static uint64_t code(struct plan *plan, uint64_t value, uint64_t codes)
{
    if (value >= codes) plan->invalid = 1;
    return value;
}

static void add(struct plan *plan, uint32_t address, uint32_t word, int reported)
{
    plan->writes[plan->count].address = address;
    plan->writes[plan->count].word = word;
    plan->writes[plan->count++].reported = reported;
}

/* Make the writes; the result is T3_INVALID before the first one, or that of the first refused. */
static int perform(const struct t3_bus *bus, uint32_t status, const struct plan *plan)
{
    if (plan->invalid) return T3_INVALID;
    for (unsigned index = 0; index < plan->count; index++) {
        int refused = 0;
        if (!bus->write(bus->self, plan->writes[index].address, plan->writes[index].word))
            return T3_REFUSED;
        if (plan->writes[index].reported)
            refused = (int)FIELD_OF(STATUS__CONFIGURATION_ERROR, get(bus, status));
        if (refused) return refused;
    }
    return T3_OKAY;
}

static int perform_of_gpu(const struct t3_bus *bus, const struct plan *plan)
{
    if (plan->invalid) return T3_INVALID;
    TRY(check_version(bus));
    return perform(bus, ADDRESS(GPU_STATUS), plan);
}

static int perform_of(const struct t3_context *context, const struct plan *plan)
{
    TRY(context->opened);
    return perform(context->bus, OF_CONTEXT(context, STATUS), plan);
}

/* Fields and writes of the plan `plan`: WRITE cannot be refused, COMMIT can. */
#define PUT(page, name, value)                                                                     \
    field(plan, (uint64_t)(value), page##__##name##_bm, page##__##name##_bp)
#define FIELD(name, value) PUT(T3__CONTEXT, name, value)
#define GPU_FIELD(name, value) PUT(T3, name, value)
#define WRITE(name, word) add(plan, OF_CONTEXT(context, name), (word), 0)
#define COMMIT(name, word) add(plan, OF_CONTEXT(context, name), (word), 1)
#define GPU_COMMIT(name, word) add(plan, ADDRESS(name), (word), 1)
#define WIDE(write, name, value)                                                                   \
    do {                                                                                           \
        write(name##_LO, (uint32_t)(value));                                                       \
        write(name##_HI, (uint32_t)((uint64_t)(value) >> 32));                                     \
    } while (0)
#define PLAN(name)                                                                                 \
    struct plan name##_ = {.count = 0}, *const name = &name##_

uint32_t t3_status(const struct t3_context *context)
{
    return get_of(context, OF_CONTEXT(context, STATUS));
}

int t3_identify(const struct t3_bus *bus)
{
    TRY(check_version(bus));
    return (int)GET(T3, CONTEXTS__COUNT, get(bus, ADDRESS(CONTEXTS)));
}

int t3_set_arbitration(const struct t3_bus *bus, const struct t3_arbitration *arbitration)
{
    const struct t3_arbitration *a = arbitration;
    PLAN(plan);
    GPU_COMMIT(ARBITER,
               GPU_FIELD(ARBITER__POLICY, code(plan, a->policy, T3_POLICY_CODES)) |
                   GPU_FIELD(ARBITER__AUTOMATIC, a->automatic) |
                   GPU_FIELD(ARBITER__THRESHOLD, a->threshold));
    GPU_COMMIT(STARVATION, GPU_FIELD(STARVATION__CYCLES, a->starvation_cycles));
    GPU_COMMIT(MEASURE, GPU_FIELD(MEASURE__LOG2, a->measure_log2));
    GPU_COMMIT(CUTS, GPU_FIELD(CUTS__CUT0, a->cuts[0]) | GPU_FIELD(CUTS__CUT1, a->cuts[1]) |
                         GPU_FIELD(CUTS__CUT2, a->cuts[2]));
    GPU_COMMIT(LEVELS, GPU_FIELD(LEVELS__LEVEL0, a->levels[0]) |
                           GPU_FIELD(LEVELS__LEVEL1, a->levels[1]) |
                           GPU_FIELD(LEVELS__LEVEL2, a->levels[2]));
    return perform_of_gpu(bus, plan);
}

int t3_gpu_lock(const struct t3_bus *bus)
{
    PLAN(plan);
    GPU_COMMIT(GPU_LOCK, GPU_FIELD(GPU_LOCK__GPU, 1));
    return perform_of_gpu(bus, plan);
}

int t3_inject(const struct t3_bus *bus, enum t3_inject_target target, unsigned instance,
              int two_bits)
{
    PLAN(plan);
    GPU_COMMIT(INJECT,
               GPU_FIELD(INJECT__TARGET, code(plan, target, T3_INJECT_TARGET_CODES)) |
                   GPU_FIELD(INJECT__INSTANCE, instance) | GPU_FIELD(INJECT__DOUBLE, two_bits));
    return perform_of_gpu(bus, plan);
}

int t3_armed(const struct t3_bus *bus)
{
    return (int)GET(T3, INJECT__ARMED, get(bus, ADDRESS(INJECT)));
}

uint32_t t3_corrected(const struct t3_bus *bus)
{
    return GET(T3, CORRECTED__COUNT, get(bus, ADDRESS(CORRECTED)));
}

int t3_scrub(const struct t3_bus *bus, unsigned interval_cycles)
{
    PLAN(plan);
    GPU_COMMIT(SCRUB_INTERVAL, GPU_FIELD(SCRUB_INTERVAL__CYCLES, interval_cycles));
    return perform_of_gpu(bus, plan);
}

uint32_t t3_scrub_corrected(const struct t3_bus *bus)
{
    return GET(T3, SCRUB_CORRECTED__COUNT, get(bus, ADDRESS(SCRUB_CORRECTED)));
}

/* Registers of an error log, with the same fields in each page. */
struct log {
    uint32_t error, place, low, high;
};

/* Oldest error of a log, if there is one. */
static int oldest_error(const struct t3_bus *bus, struct log log, struct t3_error *error)
{
    uint32_t place = get(bus, log.place);
    uint32_t what = get(bus, log.error);
    if (!FIELD_OF(ERROR_LOCATION__ERRORS, place)) return 0;
    error->code = (enum t3_error_code)FIELD_OF(ERROR__CODE, what);
    error->dispatch_index = FIELD_OF(ERROR__DISPATCH_INDEX, what);
    error->wavefront = FIELD_OF(ERROR__WAVEFRONT, what);
    error->channel = FIELD_OF(ERROR_LOCATION__CHANNEL, place);
    error->source = FIELD_OF(ERROR_LOCATION__SOURCE, place);
    error->address = get(bus, log.low) | (uint64_t)get(bus, log.high) << 32;
    return 1;
}

int t3_gpu_take_error(const struct t3_bus *bus, struct t3_error *error)
{
    struct log log = {ADDRESS(GPU_ERROR), ADDRESS(GPU_ERROR_LOCATION), ADDRESS(GPU_ERROR_ADDRESS_LO),
                      ADDRESS(GPU_ERROR_ADDRESS_HI)};
    PLAN(plan);
    if (!oldest_error(bus, log, error)) return 0;
    GPU_COMMIT(GPU_CONTROL, GPU_FIELD(GPU_CONTROL__DROP_ERROR, 1));
    return perform_of_gpu(bus, plan) == T3_OKAY ? 1 : T3_REFUSED;
}

uint32_t t3_gpu_error_count(const struct t3_bus *bus, enum t3_error_code code)
{
#define COUNTED(name)                                                                              \
    if (code == T3_ERROR_CODE_##name)                                                              \
        return GET(T3, GPU_COUNT_##name##__COUNT, get(bus, ADDRESS(GPU_COUNT_##name)));
    T3_COUNTED_OF_GPU(COUNTED)
#undef COUNTED
    return 0;
}

int t3_gpu_clear_errors(const struct t3_bus *bus)
{
    PLAN(plan);
    GPU_COMMIT(GPU_CONTROL, GPU_FIELD(GPU_CONTROL__CLEAR_ERROR, 1));
    return perform_of_gpu(bus, plan);
}

int t3_gpu_enable_interrupts(const struct t3_bus *bus, int error)
{
    PLAN(plan);
    GPU_COMMIT(GPU_INTERRUPT_ENABLE, GPU_FIELD(GPU_INTERRUPT_ENABLE__ERROR, error));
    return perform_of_gpu(bus, plan);
}

int t3_gpu_take_interrupts(const struct t3_bus *bus)
{
    uint32_t seen = get(bus, ADDRESS(GPU_INTERRUPTS));
    PLAN(plan);
    GPU_COMMIT(GPU_INTERRUPTS, seen);
    if (perform_of_gpu(bus, plan) != T3_OKAY) return T3_REFUSED;
    return (int)GET(T3, GPU_INTERRUPTS__ERROR, seen);
}

struct t3_context t3_context(const struct t3_bus *bus, unsigned number)
{
    int contexts = t3_identify(bus);
    struct t3_context context = {
        .bus = bus, .opened = contexts, .number = T3_NO_CONTEXT, .ranges = T3_UNKNOWN};
    if (contexts < 0) return context;
    /* A mapping hides that a page does not exist: its writes seem to be accepted. */
    context.opened = number < (unsigned)contexts ? T3_OKAY : T3_INVALID;
    if (context.opened == T3_OKAY) context.number = number;
    return context;
}

int t3_assign(struct t3_context *context, unsigned local, int64_t ways)
{
    PLAN(plan);
    COMMIT(ADDRESS_SPACE, FIELD(ADDRESS_SPACE__LOCAL, local) | FIELD(ADDRESS_SPACE__ENABLE, 1));
    if (ways != T3_UNCHANGED) COMMIT(WAYS, FIELD(WAYS__MASK, ways));
    return perform_of(context, plan);
}

int t3_set_rank(struct t3_context *context, unsigned rank)
{
    PLAN(plan);
    COMMIT(RANK, FIELD(RANK__RANK, rank));
    return perform_of(context, plan);
}

int t3_peer(struct t3_context *context, unsigned index, const struct t3_peer *peer)
{
    PLAN(plan);
    COMMIT(PEER, FIELD(PEER__GPU, peer->gpu) | FIELD(PEER__RANK, peer->rank) |
                     FIELD(PEER__SPACE, peer->space) |
                     FIELD(PEER__SENDS_STORES, peer->sends_stores) |
                     FIELD(PEER__SENDS_UPDATES, peer->sends_updates) |
                     FIELD(PEER__TAKES_STORES, peer->takes_stores) |
                     FIELD(PEER__TAKES_UPDATES, peer->takes_updates));
    COMMIT(PEER_COMMIT, FIELD(PEER_COMMIT__INDEX, index) | FIELD(PEER_COMMIT__ENABLE, 1));
    return perform_of(context, plan);
}

int t3_remove_peer(struct t3_context *context, unsigned index)
{
    PLAN(plan);
    COMMIT(PEER_COMMIT, FIELD(PEER_COMMIT__INDEX, index));
    return perform_of(context, plan);
}

int t3_may_await(struct t3_context *context, unsigned contexts)
{
    PLAN(plan);
    COMMIT(MAY_AWAIT, FIELD(MAY_AWAIT__CONTEXTS, contexts));
    return perform_of(context, plan);
}

int t3_accept(struct t3_context *context, uint32_t ops, uint32_t dtypes)
{
    const uint32_t all = T3__CONTEXT__INBOUND_KINDS__OPS_reset;
    const uint32_t all_types = T3__CONTEXT__INBOUND_KINDS__DTYPES_reset;
    PLAN(plan);
    COMMIT(INBOUND_KINDS, FIELD(INBOUND_KINDS__OPS, ops == T3_ALL ? all : ops) |
                              FIELD(INBOUND_KINDS__DTYPES, dtypes == T3_ALL ? all_types : dtypes));
    return perform_of(context, plan);
}

/* Waits until the context is not aborting, and idle if asked for, whatever its errors. */
static int settle(const struct t3_context *context, unsigned long polls, int idle)
{
    while (polls--) {
        uint32_t seen = t3_status(context);
        if (!FIELD_OF(STATUS__ABORTING, seen) && (!idle || FIELD_OF(STATUS__IDLE, seen)))
            return T3_OKAY;
    }
    return T3_TIMEOUT;
}

int t3_reset_epochs(struct t3_context *context, unsigned long polls)
{
    PLAN(plan);
    TRY(context->opened);
    TRY(settle(context, polls, 0));
    COMMIT(EPOCH_RESET, FIELD(EPOCH_RESET__RESTART, 1));
    return perform_of(context, plan);
}

uint32_t t3_next_epoch(const struct t3_context *context)
{
    return FIELD_OF(EPOCHS__NEXT, get_of(context, OF_CONTEXT(context, EPOCHS)));
}

int t3_lock(struct t3_context *context, int regions, int assignment)
{
    PLAN(plan);
    COMMIT(LOCK, FIELD(LOCK__REGIONS, regions) | FIELD(LOCK__ASSIGNMENT, assignment));
    return perform_of(context, plan);
}

int t3_hold(struct t3_context *context)
{
    PLAN(plan);
    COMMIT(LOCK, FIELD(LOCK__REGIONS, 1) | FIELD(LOCK__ASSIGNMENT, 1) | FIELD(LOCK__HOLD, 1));
    return perform_of(context, plan);
}

static int put_region(struct t3_context *context, unsigned index, uint64_t base_bytes,
                      uint64_t limit_bytes, int share)
{
    PLAN(plan);
    WIDE(COMMIT, REGION_BASE, base_bytes);
    WIDE(COMMIT, REGION_LIMIT, limit_bytes);
    COMMIT(REGION_COMMIT, FIELD(REGION_COMMIT__INDEX, index) | FIELD(REGION_COMMIT__ENABLE, 1) |
                              FIELD(REGION_COMMIT__SHARE, share));
    return perform_of(context, plan);
}

int t3_region(struct t3_context *context, unsigned index, uint64_t base_bytes,
              uint64_t limit_bytes)
{
    return put_region(context, index, base_bytes, limit_bytes, 0);
}

int t3_share_region(struct t3_context *context, unsigned index, uint64_t base_bytes,
                    uint64_t limit_bytes)
{
    return put_region(context, index, base_bytes, limit_bytes, 1);
}

int t3_remove_region(struct t3_context *context, unsigned index)
{
    PLAN(plan);
    COMMIT(REGION_COMMIT, FIELD(REGION_COMMIT__INDEX, index));
    return perform_of(context, plan);
}

static void plan_command(struct plan *plan, const struct t3_context *context, unsigned index,
                         const struct t3_transfer *t, unsigned region)
{
    WRITE(COMMAND_TRANSFER,
          FIELD(COMMAND_TRANSFER__KIND, t->kind) |
              FIELD(COMMAND_TRANSFER__MARKS, t->marks) |
              FIELD(COMMAND_TRANSFER__OP, code(plan, t->op, T3_OPERATION_CODES)) |
              FIELD(COMMAND_TRANSFER__DTYPE, code(plan, t->dtype, T3_DATATYPE_CODES)) |
              FIELD(COMMAND_TRANSFER__GRANULARITY, t->granularity) |
              FIELD(COMMAND_TRANSFER__GROUP_LOG2, t->group_log2) |
              FIELD(COMMAND_TRANSFER__WAVE_INNER_LOG2, t->wave_run_atoms_log2) |
              FIELD(COMMAND_TRANSFER__WAVES_INNER_LOG2, t->waves_inner_log2));
    WRITE(COMMAND_OUTER, FIELD(COMMAND_OUTER__OUTER_EXTENT, t->rows) |
                             FIELD(COMMAND_OUTER__OUTER_EXTENT_EDGE, t->rows_edge));
    WRITE(COMMAND_INNER, FIELD(COMMAND_INNER__INNER_EXTENT, t->run_atoms) |
                             FIELD(COMMAND_INNER__INNER_EXTENT_EDGE, t->run_edge_atoms));
    WRITE(COMMAND_STRIDE, FIELD(COMMAND_STRIDE__STRIDE, t->stride_atoms) |
                              FIELD(COMMAND_STRIDE__REGION, region));
    WRITE(COMMAND_WAVES, FIELD(COMMAND_WAVES__WAVE_OUTER_EXTENT, t->wave_rows) |
                             FIELD(COMMAND_WAVES__WAVES0, t->waves[0]) |
                             FIELD(COMMAND_WAVES__WAVES1, t->waves[1]) |
                             FIELD(COMMAND_WAVES__WAVES2, t->waves[2]) |
                             FIELD(COMMAND_WAVES__WAVES3, t->waves[3]));
    WIDE(WRITE, COMMAND_OFFSET, t->offset_bytes);
    COMMIT(COMMAND_COMMIT, FIELD(COMMAND_COMMIT__INDEX, index));
}

int t3_command(struct t3_context *context, unsigned index, const struct t3_transfer *transfer,
               unsigned region)
{
    PLAN(plan);
    plan_command(plan, context, index, transfer, region);
    return perform_of(context, plan);
}

int t3_unmap(struct t3_context *context)
{
    PLAN(first);
    int result;
    /* The staged region, command and peers are also checked, and may be another program's. */
    add(first, OF_CONTEXT(context, RANGE_ACTION), 0, 0);
    add(first, OF_CONTEXT(context, RANGE_PEERS), 0, 0);
    TRY(perform_of(context, first));
    for (unsigned index = 0; index < MOST_RANGES; index++) {
        PLAN(plan);
        COMMIT(RANGE_COMMIT, FIELD(RANGE_COMMIT__INDEX, index));
        result = perform_of(context, plan);
        if (result == T3_CONFIGURATION_ERROR_UNKNOWN_INDEX) break; /* the hardware has no more */
        if (result) return result;
    }
    context->ranges = 0;
    return T3_OKAY;
}

/* Two's complement of a slot offset. */
static uint64_t slot_offset_word(struct plan *plan, int32_t offset)
{
    const int32_t end = 1 << (T3__CONTEXT__RANGE_PEERS__SLOT_OFFSET_bw - 1);
    if (offset < -end || offset >= end) plan->invalid = 1;
    return (uint32_t)offset & (2 * (uint32_t)end - 1);
}

/* With a count of 0, the writes are only to be checked. */
static void plan_map(struct plan *plan, const struct t3_context *context, unsigned index,
                     uint32_t first, uint32_t count, enum t3_action action, unsigned region,
                     unsigned command, unsigned shares, struct t3_receivers to,
                     const struct t3_gate *gate)
{
    uint64_t last = (uint64_t)first + (count ? count : 1) - 1;
    WRITE(RANGE_DISPATCH_INDICES, FIELD(RANGE_DISPATCH_INDICES__FIRST, first) |
                                      FIELD(RANGE_DISPATCH_INDICES__LAST, last));
    WRITE(RANGE_ACTION, FIELD(RANGE_ACTION__REGION, region) |
                            FIELD(RANGE_ACTION__ACTION, action) |
                            FIELD(RANGE_ACTION__COMMAND, command) |
                            FIELD(RANGE_ACTION__SHARES, shares));
    WRITE(RANGE_PEERS, FIELD(RANGE_PEERS__PEERS, to.peers) |
                           FIELD(RANGE_PEERS__SLOT_OFFSET,
                                 slot_offset_word(plan, to.slot_offset)));
    WRITE(RANGE_GATE, gate ? FIELD(RANGE_GATE__CONTEXT, gate->context) |
                                 FIELD(RANGE_GATE__GENERATION, gate->generation) |
                                 FIELD(RANGE_GATE__SLOT, gate->slot) | FIELD(RANGE_GATE__ENABLE, 1)
                           : 0);
    if (gate)
        WRITE(RANGE_BAND, FIELD(RANGE_BAND__WORKGROUPS, gate->workgroups) |
                              FIELD(RANGE_BAND__SLOTS, gate->slots));
    if ((action == T3_ACTION_DMA || action == T3_ACTION_OWN) && !shares) plan->invalid = 1;
    if ((action == T3_ACTION_DMA || action == T3_ACTION_REMOTE) && !to.peers) plan->invalid = 1;
    if (action == T3_ACTION_NONE && !gate) plan->invalid = 1;
    COMMIT(RANGE_COMMIT, FIELD(RANGE_COMMIT__INDEX, index) | FIELD(RANGE_COMMIT__ENABLE, 1));
}

static int map(struct t3_context *context, uint32_t first, uint32_t count, enum t3_action action,
               unsigned region, unsigned command, unsigned shares, struct t3_receivers to,
               const struct t3_gate *gate)
{
    unsigned index = context->ranges == T3_UNKNOWN ? 0 : context->ranges;
    PLAN(plan);
    plan_map(plan, context, index, first, count, action, region, command, shares, to,
              gate);
    TRY(context->opened);
    if (plan->invalid) return T3_INVALID;
    if (!count) return T3_OKAY;
    if (context->ranges == T3_UNKNOWN) TRY(t3_unmap(context));
    TRY(perform_of(context, plan));
    context->ranges = index + 1;
    return T3_OKAY;
}

int t3_remote_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
                  unsigned command, unsigned shares, struct t3_receivers to,
                  const struct t3_gate *gate)
{
    return map(context, first, count, T3_ACTION_REMOTE, region, command, shares, to, gate);
}

int t3_dma_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
               unsigned command, unsigned shares, struct t3_receivers to,
               const struct t3_gate *gate)
{
    return map(context, first, count, T3_ACTION_DMA, region, command, shares, to, gate);
}

int t3_own_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
               unsigned command, unsigned shares, const struct t3_gate *gate)
{
    return map(context, first, count, T3_ACTION_OWN, region, command, shares, no_receiver, gate);
}

int t3_await_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
                 const struct t3_gate *gate)
{
    return map(context, first, count, T3_ACTION_NONE, region, TILES, 0, no_receiver, gate);
}

/* Logarithm of a power of two, or 0 of 0. */
static unsigned log2_of(struct plan *plan, uint32_t power)
{
    unsigned log2 = 0;
    if (power & (power - 1)) plan->invalid = 1;
    while (power >>= 1) log2++;
    return log2;
}

static void plan_window(struct plan *plan, const struct t3_context *context,
                        const struct t3_window *window)
{
    COMMIT(WORKGROUPS, FIELD(WORKGROUPS__COUNT, window->workgroups));
    COMMIT(TRACKED_FIRST, FIELD(TRACKED_FIRST__DISPATCH_INDEX, window->tracked_first));
    COMMIT(TRACKED_END, FIELD(TRACKED_END__DISPATCH_INDEX, window->tracked_end));
    COMMIT(TO_SEND, FIELD(TO_SEND__COUNT, window->to_send));
    COMMIT(CREDIT_WINDOW, FIELD(CREDIT_WINDOW__WORKGROUPS, window->credit_window));
    COMMIT(COMMAND_WINDOW, FIELD(COMMAND_WINDOW__WORKGROUPS, window->command_window));
    COMMIT(TRACKING, FIELD(TRACKING__GENERATION, window->generation) |
                     FIELD(TRACKING__ACCUMULATE, window->accumulate));
    COMMIT(PROGRESS, FIELD(PROGRESS__ENABLE, window->progress > 0) |
                         FIELD(PROGRESS__LOG2, log2_of(plan, window->progress)));
}

int t3_window(struct t3_context *context, const struct t3_window *window)
{
    PLAN(plan);
    plan_window(plan, context, window);
    return perform_of(context, plan);
}

static enum t3_action action_of(const struct t3_part *part)
{
    if (part->stores_leave) return T3_ACTION_REMOTE;
    return part->to.peers ? T3_ACTION_DMA : T3_ACTION_OWN;
}

/* Transfers of a collective, each object once: that of the collective first. */
struct transfers {
    const struct t3_transfer *of[MOST_TRANSFERS];
    unsigned count;
};

/* Place of a transfer; MOST_TRANSFERS if there is no more place for it. */
static unsigned place_of(struct transfers *found, const struct t3_transfer *transfer)
{
    unsigned place = 0;
    while (place < found->count && found->of[place] != transfer) place++;
    if (place == found->count && place < MOST_TRANSFERS) found->of[found->count++] = transfer;
    return place;
}

static unsigned command_of(struct transfers *found, const struct t3_part *part)
{
    return TILE_COMMANDS[part->transfer ? place_of(found, part->transfer) : 0];
}

static struct t3_transfer marking(const struct t3_transfer *transfer)
{
    struct t3_transfer with_marks = *transfer;
    with_marks.marks = 1;
    return with_marks;
}

static struct t3_window window_of(const struct t3_collective *collective, uint32_t end)
{
    struct t3_window window = {
        .workgroups = end - collective->arriving,
        .tracked_first = collective->tracked_first,
        .tracked_end = end,
        .credit_window = collective->credit_window,
        .command_window = collective->command_window,
        .generation = collective->generation,
        .accumulate = collective->accumulate,
        .progress = collective->progress,
    };
    const struct t3_part *part = collective->parts;
    for (unsigned left = collective->count; left--; part++)
        if (part->to.peers) window.to_send += part->workgroups;
    if (collective->count && collective->parts->to.peers) window.to_send -= collective->unused;
    return window;
}

int t3_collective(struct t3_context *context, const struct t3_collective *collective,
                  const struct t3_transfer *transfer, unsigned region)
{
    const struct t3_part *part, *end = collective->parts + collective->count;
    struct transfers found = {.of = {transfer}, .count = 1};
    struct t3_window window;
    uint64_t last = 0;
    uint32_t first = 0;
    for (part = collective->parts; part < end; part++) {
        PLAN(range);
        if (part->transfer && place_of(&found, part->transfer) == MOST_TRANSFERS)
            return T3_INVALID;
        plan_map(range, context, 0, (uint32_t)last, part->workgroups, action_of(part), region,
                 command_of(&found, part), part->shares, part->to, part->gate);
        last += part->workgroups;
        if (range->invalid || last > UINT32_MAX) return T3_INVALID;
    }
    if (collective->unused > (collective->count ? collective->parts->workgroups : 0) ||
        collective->arriving > last)
        return T3_INVALID;
    window = window_of(collective, (uint32_t)last);
    PLAN(plan);
    plan_window(plan, context, &window);
    if (plan->invalid) return T3_INVALID;
    for (unsigned place = 0; place < found.count; place++) {
        struct t3_transfer with_marks = marking(found.of[place]);
        PLAN(command);
        plan_command(command, context, TILE_COMMANDS[place], &with_marks, region);
        if (command->invalid) return T3_INVALID;
    }
    TRY(t3_unmap(context));
    for (unsigned place = 0; place < found.count; place++) {
        struct t3_transfer with_marks = marking(found.of[place]);
        TRY(t3_command(context, TILE_COMMANDS[place], &with_marks, region));
    }
    for (part = collective->parts; part < end; part++) {
        TRY(map(context, first, part->workgroups, action_of(part), region,
                command_of(&found, part), part->shares, part->to, part->gate));
        first += part->workgroups;
    }
    return t3_window(context, &window);
}

static int ring_fits(const struct t3_ring *ring)
{
    return (uint64_t)ring->leaving + ring->staying <= ring->workgroups;
}

/* Collective of a ring reduce-scatter, whose three parts are made first. */
static struct t3_collective ring_collective(const struct t3_ring *ring, struct t3_part *parts,
                                            unsigned count)
{
    struct t3_receivers to = {.peers = 1u << T3_DOWNSTREAM, .slot_offset = (int32_t)ring->staying};
    parts[0] = (struct t3_part){.workgroups = ring->leaving, .stores_leave = 1, .to = to};
    parts[1] = (struct t3_part){
        .workgroups = ring->workgroups - ring->leaving - ring->staying,
        .shares = ring->shares, .to = to};
    parts[2] = (struct t3_part){.workgroups = ring->staying, .shares = ring->shares};
    return (struct t3_collective){
        .parts = parts, .count = count,
        .tracked_first = ring->leaving,
        .credit_window = ring->credit_window,
        .command_window = ring->command_window,
        .generation = ring->generation,
    };
}

int t3_reduce_scatter(struct t3_context *context, const struct t3_ring *ring,
                      const struct t3_transfer *transfer, unsigned region)
{
    struct t3_part parts[3];
    struct t3_collective collective = ring_collective(ring, parts, 3);
    if (!ring_fits(ring)) return T3_INVALID;
    return t3_collective(context, &collective, transfer, region);
}

static struct t3_transfer stored(const struct t3_transfer *transfer)
{
    struct t3_transfer stores = *transfer;
    stores.kind = T3_PACKET_KIND_STORE;
    return stores;
}

int t3_all_gather(struct t3_context *context, const struct t3_gather *gather,
                  const struct t3_transfer *transfer, unsigned region)
{
    struct t3_transfer stores = stored(transfer);
    struct t3_part parts[] = {
        {.workgroups = gather->before, .shares = 1},
        {.workgroups = gather->own + gather->passed, .shares = 1, .to = gather->to},
        {.workgroups = gather->arriving, .shares = 1},
    };
    struct t3_collective collective = {
        .parts = parts, .count = 3,
        .credit_window = gather->credit_window,
        .command_window = gather->command_window,
        .unused = gather->before,
        .arriving = gather->passed + gather->arriving,
        .generation = gather->generation,
    };
    if (parts[1].workgroups < gather->own || collective.arriving < gather->passed)
        return T3_INVALID;
    return t3_collective(context, &collective, &stores, region);
}

int t3_all_to_all(struct t3_context *context, const struct t3_exchange *exchange,
                  const struct t3_transfer *transfer, unsigned region)
{
    enum { MOST_SENT = T3__CONTEXT__RANGE_PEERS__PEERS_bw };
    struct t3_transfer stores = stored(transfer);
    struct t3_part parts[MOST_SENT + 2];
    struct t3_collective collective = {
        .parts = parts, .count = exchange->count + 2,
        .credit_window = exchange->credit_window,
        .command_window = exchange->command_window,
        .arriving = exchange->arriving,
        .generation = exchange->generation,
    };
    struct t3_part *own = parts + exchange->count;
    if (exchange->count > MOST_SENT) return T3_INVALID;
    for (unsigned place = 0; place < exchange->count; place++) {
        parts[place] = exchange->sent[place];
        parts[place].stores_leave = 1;
        parts[place].shares = 0;
        collective.tracked_first += parts[place].workgroups;
        if (collective.tracked_first < parts[place].workgroups) return T3_INVALID;
    }
    own[0] = (struct t3_part){.workgroups = exchange->own, .shares = 1};
    own[1] = (struct t3_part){.workgroups = exchange->arriving, .shares = 1};
    return t3_collective(context, &collective, &stores, region);
}

int t3_send(struct t3_context *context, const struct t3_send *send,
            const struct t3_transfer *transfer, unsigned region)
{
    struct t3_part leaving = {.workgroups = send->leaving, .to = send->to};
    struct t3_exchange exchange = {
        .sent = &leaving, .count = 1,
        .arriving = send->arriving,
        .credit_window = send->credit_window,
        .command_window = send->command_window,
        .generation = send->generation,
    };
    return t3_all_to_all(context, &exchange, transfer, region);
}

int t3_gemm_overlap(struct t3_context *context, const struct t3_overlap *overlap,
                    const struct t3_transfer *transfer, unsigned region)
{
    struct t3_transfer stores = stored(transfer);
    struct t3_part parts[5];
    struct t3_collective collective = ring_collective(&overlap->ring, parts, 5);
    if (!ring_fits(&overlap->ring)) return T3_INVALID;
    parts[2].to = (struct t3_receivers){.peers = 1u << T3_DOWNSTREAM,
                                        .slot_offset = (int32_t)overlap->ring.staying};
    parts[2].transfer = &stores;
    parts[3] = parts[2];
    parts[3].workgroups = overlap->passed;
    parts[3].shares = 1;
    parts[4] = (struct t3_part){.workgroups = overlap->arriving, .shares = 1};
    collective.arriving = overlap->passed + overlap->arriving;
    if (collective.arriving < overlap->passed) return T3_INVALID;
    return t3_collective(context, &collective, transfer, region);
}

int t3_is_foreign(enum t3_error_code code)
{
#define FOREIGN(name) case T3_ERROR_CODE_##name:
    switch (code) {
        T3_FOREIGN_PACKETS(FOREIGN) return 1;
    default: return 0;
    }
#undef FOREIGN
}

/* A counter saturates there. */
enum { FULL = T3__CONTEXT__COUNT_TIMEOUT__COUNT_bm };

/* Compare the error counters with those at the last comparison; 1 if errors may have lost data of
 * the launch. The counters decide, and not the log, because a neighbour can fill the log. */
static int compare(struct t3_context *context)
{
    uint32_t errors = get_of(context, OF_CONTEXT(context, ERRORS));
    int lost = 0;
    context->compared = 1;
    if (errors == context->errors) return 0;
    context->errors = errors;
#define COUNTED(name)                                                                              \
    {                                                                                              \
        uint32_t *before = &context->counts[T3_ERROR_CODE_##name];                                 \
        uint32_t now = t3_error_count(context, T3_ERROR_CODE_##name);                              \
        /* The counter is less than before if another program has cleared it. */                                        \
        uint32_t grown = now < *before ? now : now - *before;                                      \
        if (!grown) grown = now == FULL;                                                           \
        if (t3_is_foreign(T3_ERROR_CODE_##name)) context->refused[T3_ERROR_CODE_##name] += grown;  \
        else lost |= grown != 0;                                                                   \
        *before = now;                                                                             \
    }
    T3_COUNTED_OF_CONTEXT(COUNTED)
#undef COUNTED
    return lost;
}

/* Compare with the present counters from now on. */
static void restart(struct t3_context *context)
{
    context->errors = get_of(context, OF_CONTEXT(context, ERRORS));
#define COUNTED(name)                                                                              \
    context->counts[T3_ERROR_CODE_##name] = t3_error_count(context, T3_ERROR_CODE_##name);
    T3_COUNTED_OF_CONTEXT(COUNTED)
#undef COUNTED
    context->compared = 1;
}

int t3_timeout(struct t3_context *context, uint32_t cycles)
{
    /* The first tick may come at once. */
    uint32_t ticks = cycles / T3_TICK_CYCLES + (cycles % T3_TICK_CYCLES != 0) + 1;
    PLAN(plan);
    COMMIT(TIMEOUT, FIELD(TIMEOUT__TICKS, cycles ? ticks : 0));
    return perform_of(context, plan);
}

int t3_launch(struct t3_context *context)
{
    PLAN(plan);
    TRY(context->opened);
    if (!context->compared) restart(context);
    COMMIT(CONTROL, FIELD(CONTROL__LAUNCH, 1));
    return perform_of(context, plan);
}

int t3_measure(struct t3_context *context)
{
    PLAN(plan);
    WRITE(CONTROL, FIELD(CONTROL__MEASURE, 1));
    return perform_of(context, plan);
}

static void plan_copy(struct plan *plan, const struct t3_context *context, uint64_t start_bytes,
                      const struct t3_transfer *transfer, unsigned region, unsigned peers)
{
    struct t3_transfer stores = *transfer;
    stores.kind = T3_PACKET_KIND_STORE;
    plan_command(plan, context, COPIES, &stores, region);
    WIDE(WRITE, COPY_START, start_bytes);
    if (!peers) plan->invalid = 1;
    COMMIT(COPY, FIELD(COPY__COMMAND, COPIES) | FIELD(COPY__PEERS, peers));
}

int t3_copy(struct t3_context *context, uint64_t start_bytes, const struct t3_transfer *transfer,
            unsigned region, unsigned peers)
{
    PLAN(plan);
    plan_copy(plan, context, start_bytes, transfer, region, peers);
    return perform_of(context, plan);
}

int t3_copy_chunks(struct t3_context *context, const struct t3_chunk *chunks, unsigned count,
                   unsigned region, unsigned peers,
                   void (*arrived)(void *self, unsigned chunk), void *self)
{
    for (unsigned chunk = 0; chunk < count; chunk++) {
        PLAN(plan);
        plan_copy(plan, context, chunks[chunk].start_bytes, &chunks[chunk].transfer, region, peers);
        if (plan->invalid) return T3_INVALID;
    }
    for (unsigned chunk = 0; chunk < count; chunk++) {
        if (chunk) arrived(self, chunk);
        TRY(t3_copy(context, chunks[chunk].start_bytes, &chunks[chunk].transfer, region, peers));
    }
    return T3_OKAY;
}

int t3_wait(struct t3_context *context, unsigned long polls)
{
    TRY(context->opened);
    memset(context->refused, 0, sizeof(context->refused));
    while (polls--) {
        /* Read at once, since a pending launch begins to run meanwhile, and before the counters,
         * which then have all errors of a launch that has ended. */
        uint32_t seen = t3_status(context);
        if (compare(context)) return T3_REPORTED;
        if (!FIELD_OF(STATUS__PENDING, seen) && !FIELD_OF(STATUS__RUNNING, seen))
            return FIELD_OF(STATUS__ABORTED, seen) ? T3_ABORTED : T3_OKAY;
    }
    return T3_TIMEOUT;
}

int t3_wait_idle(struct t3_context *context, unsigned long polls)
{
    TRY(context->opened);
    memset(context->refused, 0, sizeof(context->refused));
    while (polls--) {
        uint32_t seen = t3_status(context);
        if (compare(context)) return T3_REPORTED;
        if (FIELD_OF(STATUS__IDLE, seen)) return T3_OKAY;
    }
    return T3_TIMEOUT;
}

int t3_abort(struct t3_context *context, unsigned long polls)
{
    PLAN(plan);
    WRITE(CONTROL, FIELD(CONTROL__ABORT, 1));
    TRY(perform_of(context, plan));
    TRY(settle(context, polls, 0));
    restart(context); /* the errors of the aborted launch are no longer of interest */
    return T3_OKAY;
}

int t3_hand_over(struct t3_context *context, unsigned long polls)
{
    PLAN(plan);
    TRY(t3_hold(context));
    TRY(t3_abort(context, polls));
    TRY(settle(context, polls, 1));
    COMMIT(CLEAR, FIELD(CLEAR__TABLES, 1));
    TRY(perform_of(context, plan));
    context->ranges = 0;
    return t3_clear_errors(context);
}

uint32_t t3_tiles(const struct t3_context *context)
{
    return FIELD_OF(TILES__COUNT, get_of(context, OF_CONTEXT(context, TILES)));
}

uint32_t t3_oldest(const struct t3_context *context)
{
    return FIELD_OF(OLDEST__DISPATCH_INDEX, get_of(context, OF_CONTEXT(context, OLDEST)));
}

int t3_take_error(struct t3_context *context, struct t3_error *error)
{
    struct log log = {OF_CONTEXT(context, ERROR), OF_CONTEXT(context, ERROR_LOCATION),
                      OF_CONTEXT(context, ERROR_ADDRESS_LO), OF_CONTEXT(context, ERROR_ADDRESS_HI)};
    PLAN(plan);
    TRY(context->opened);
    if (!oldest_error(context->bus, log, error)) return 0;
    WRITE(CONTROL, FIELD(CONTROL__DROP_ERROR, 1));
    return perform_of(context, plan) == T3_OKAY ? 1 : T3_REFUSED;
}

uint32_t t3_error_count(const struct t3_context *context, enum t3_error_code code)
{
#define COUNTED(name)                                                                              \
    if (code == T3_ERROR_CODE_##name)                                                              \
        return FIELD_OF(COUNT_##name##__COUNT,                                                     \
                        get_of(context, OF_CONTEXT(context, COUNT_##name)));
    T3_COUNTED_OF_CONTEXT(COUNTED)
#undef COUNTED
    return 0;
}

int t3_clear_errors(struct t3_context *context)
{
    PLAN(plan);
    WRITE(CONTROL, FIELD(CONTROL__CLEAR_ERROR, 1));
    TRY(perform_of(context, plan));
    context->errors = 0;
    memset(context->counts, 0, sizeof(context->counts));
    return T3_OKAY;
}

int t3_enable_interrupts(struct t3_context *context, unsigned kinds)
{
    PLAN(plan);
    if (kinds >= T3_PROGRESS << 1) plan->invalid = 1;
    WRITE(INTERRUPT_ENABLE, kinds);
    return perform_of(context, plan);
}

unsigned t3_take_interrupts(struct t3_context *context)
{
    uint32_t seen = get_of(context, OF_CONTEXT(context, INTERRUPTS));
    PLAN(plan);
    WRITE(INTERRUPTS, seen);
    return perform_of(context, plan) == T3_OKAY ? seen : 0;
}
