#include "t3.h"

#include <stddef.h>

#include "t3_registers.h"

#define ADDRESS(name) ((uint32_t)offsetof(t3_t, name))
#define OF_CONTEXT(context, name)                                                                  \
    (ADDRESS(context[0].name) + (uint32_t)sizeof(((t3_t *)0)->context[0]) * (context)->number)
/* Insert a value into a field; extract a field of a word. */
#define PUT(page, field, value) (((uint32_t)(value) << page##__##field##_bp) & page##__##field##_bm)
#define GET(page, field, word) (((word) & page##__##field##_bm) >> page##__##field##_bp)
#define FIELD(field, value) PUT(T3__CONTEXT, field, value)
#define FIELD_OF(field, word) GET(T3__CONTEXT, field, word)

/* Command templates that the driver uses. */
enum { TILES = 0, COPIES = 1 };

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

static int put(const struct t3_bus *bus, uint32_t address, uint32_t word)
{
    return bus->write(bus->self, address, word) ? T3_OKAY : T3_REFUSED;
}

uint32_t t3_status(const struct t3_context *context)
{
    return get(context->bus, OF_CONTEXT(context, STATUS));
}

/* Reason for which the hardware refused the last write, or T3_OKAY. */
static int refused(const struct t3_context *context, int result)
{
    int code = (int)FIELD_OF(STATUS__CONFIGURATION_ERROR, t3_status(context));
    return result == T3_OKAY || code ? code : T3_REFUSED;
}

static int set(const struct t3_context *context, uint32_t address, uint32_t word)
{
    int result = put(context->bus, address, word);
    return result == T3_OKAY ? T3_OKAY : refused(context, result);
}

/* A write that the hardware may refuse. */
static int commit(const struct t3_context *context, uint32_t address, uint32_t word)
{
    return refused(context, put(context->bus, address, word));
}

#define SET(name, word) TRY(set(context, OF_CONTEXT(context, name), (word)))
#define COMMIT(name, word) TRY(commit(context, OF_CONTEXT(context, name), (word)))
#define SET_WIDE(name, value)                                                                      \
    do {                                                                                           \
        SET(name##_LO, (uint32_t)(value));                                                         \
        SET(name##_HI, (uint32_t)((uint64_t)(value) >> 32));                                       \
    } while (0)

int t3_identify(const struct t3_bus *bus)
{
    if (get(bus, ADDRESS(ID)) != T3__ID__ID_reset) return T3_NOT_FOUND;
    return (int)GET(T3, CONTEXTS__COUNT, get(bus, ADDRESS(CONTEXTS)));
}

int t3_set_number(const struct t3_bus *bus, unsigned gpu)
{
    return put(bus, ADDRESS(GPU_NUMBER), PUT(T3, GPU_NUMBER__GPU, gpu));
}

int t3_set_arbitration(const struct t3_bus *bus, const struct t3_arbitration *arbitration)
{
    const struct t3_arbitration *a = arbitration;
    TRY(put(bus, ADDRESS(ARBITER),
            PUT(T3, ARBITER__POLICY, a->policy) | PUT(T3, ARBITER__AUTOMATIC, a->automatic) |
                PUT(T3, ARBITER__THRESHOLD, a->threshold)));
    TRY(put(bus, ADDRESS(STARVATION), PUT(T3, STARVATION__CYCLES, a->starvation_cycles)));
    TRY(put(bus, ADDRESS(MEASURE), PUT(T3, MEASURE__LOG2, a->measure_log2)));
    TRY(put(bus, ADDRESS(CUTS),
            PUT(T3, CUTS__CUT0, a->cuts[0]) | PUT(T3, CUTS__CUT1, a->cuts[1]) |
                PUT(T3, CUTS__CUT2, a->cuts[2])));
    return put(bus, ADDRESS(LEVELS),
               PUT(T3, LEVELS__LEVEL0, a->levels[0]) | PUT(T3, LEVELS__LEVEL1, a->levels[1]) |
                   PUT(T3, LEVELS__LEVEL2, a->levels[2]));
}

int t3_gpu_lock(const struct t3_bus *bus)
{
    return put(bus, ADDRESS(GPU_LOCK), PUT(T3, GPU_LOCK__GPU, 1));
}

int t3_inject(const struct t3_bus *bus, enum t3_inject_target target, unsigned instance,
              int two_bits)
{
    return put(bus, ADDRESS(INJECT),
               PUT(T3, INJECT__TARGET, target) | PUT(T3, INJECT__INSTANCE, instance) |
                   PUT(T3, INJECT__DOUBLE, two_bits));
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
    return put(bus, ADDRESS(SCRUB_INTERVAL), PUT(T3, SCRUB_INTERVAL__CYCLES, interval_cycles));
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
    if (!oldest_error(bus, log, error)) return 0;
    TRY(put(bus, ADDRESS(GPU_CONTROL), PUT(T3, GPU_CONTROL__DROP_ERROR, 1)));
    return 1;
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
    return put(bus, ADDRESS(GPU_CONTROL), PUT(T3, GPU_CONTROL__CLEAR_ERROR, 1));
}

int t3_gpu_enable_interrupts(const struct t3_bus *bus, int error)
{
    return put(bus, ADDRESS(GPU_INTERRUPT_ENABLE), PUT(T3, GPU_INTERRUPT_ENABLE__ERROR, error));
}

int t3_gpu_take_interrupts(const struct t3_bus *bus)
{
    uint32_t seen = get(bus, ADDRESS(GPU_INTERRUPTS));
    TRY(put(bus, ADDRESS(GPU_INTERRUPTS), seen));
    return (int)GET(T3, GPU_INTERRUPTS__ERROR, seen);
}

struct t3_context t3_context(const struct t3_bus *bus, unsigned number)
{
    struct t3_context context = {bus, number, 0};
    return context;
}

int t3_assign(struct t3_context *context, unsigned local, unsigned remote, uint32_t ways)
{
    COMMIT(ADDRESS_SPACE, FIELD(ADDRESS_SPACE__LOCAL, local) |
                              FIELD(ADDRESS_SPACE__REMOTE, remote) |
                              FIELD(ADDRESS_SPACE__ENABLE, 1));
    if (ways) SET(WAYS, FIELD(WAYS__MASK, ways));
    return T3_OKAY;
}

int t3_accept(struct t3_context *context, uint32_t stores, uint32_t updates, uint32_t ops,
              uint32_t dtypes)
{
    SET(INBOUND_STORES, FIELD(INBOUND_STORES__SOURCES, stores));
    SET(INBOUND_UPDATES, FIELD(INBOUND_UPDATES__SOURCES, updates));
    SET(INBOUND_KINDS, FIELD(INBOUND_KINDS__OPS, ops) | FIELD(INBOUND_KINDS__DTYPES, dtypes));
    return T3_OKAY;
}

/* Waits until the context is not aborting. */
static int settle(const struct t3_context *context, unsigned long polls)
{
    while (polls--)
        if (!FIELD_OF(STATUS__ABORTING, t3_status(context))) return T3_OKAY;
    return T3_TIMEOUT;
}

int t3_reset_epochs(struct t3_context *context, unsigned long polls)
{
    TRY(settle(context, polls));
    COMMIT(EPOCH_RESET, FIELD(EPOCH_RESET__RESTART, 1));
    return T3_OKAY;
}

uint32_t t3_next_epoch(const struct t3_context *context)
{
    return FIELD_OF(EPOCHS__NEXT, get(context->bus, OF_CONTEXT(context, EPOCHS)));
}

int t3_lock(struct t3_context *context, int regions, int assignment)
{
    SET(LOCK, FIELD(LOCK__REGIONS, regions) | FIELD(LOCK__ASSIGNMENT, assignment));
    return T3_OKAY;
}

static int put_region(struct t3_context *context, unsigned index, uint64_t base, uint64_t limit,
                      int share)
{
    SET_WIDE(REGION_BASE, base);
    SET_WIDE(REGION_LIMIT, limit);
    COMMIT(REGION_COMMIT, FIELD(REGION_COMMIT__INDEX, index) | FIELD(REGION_COMMIT__ENABLE, 1) |
                              FIELD(REGION_COMMIT__SHARE, share));
    return T3_OKAY;
}

int t3_region(struct t3_context *context, unsigned index, uint64_t base, uint64_t limit)
{
    return put_region(context, index, base, limit, 0);
}

int t3_share_region(struct t3_context *context, unsigned index, uint64_t base, uint64_t limit)
{
    return put_region(context, index, base, limit, 1);
}

int t3_remove_region(struct t3_context *context, unsigned index)
{
    COMMIT(REGION_COMMIT, FIELD(REGION_COMMIT__INDEX, index));
    return T3_OKAY;
}

int t3_command(struct t3_context *context, unsigned index, const struct t3_transfer *transfer,
               unsigned region)
{
    const struct t3_transfer *t = transfer;
    SET(COMMAND_TRANSFER,
        FIELD(COMMAND_TRANSFER__KIND, t->kind) | FIELD(COMMAND_TRANSFER__OP, t->op) |
            FIELD(COMMAND_TRANSFER__DTYPE, t->dtype) |
            FIELD(COMMAND_TRANSFER__GRANULARITY, t->granularity) |
            FIELD(COMMAND_TRANSFER__GROUP_LOG2, t->group_log2) |
            FIELD(COMMAND_TRANSFER__WAVE_INNER_LOG2, t->wave_run_log2) |
            FIELD(COMMAND_TRANSFER__WAVES_INNER_LOG2, t->waves_inner_log2));
    SET(COMMAND_OUTER, FIELD(COMMAND_OUTER__OUTER_EXTENT, t->rows) |
                           FIELD(COMMAND_OUTER__OUTER_EXTENT_EDGE, t->rows_edge));
    SET(COMMAND_INNER, FIELD(COMMAND_INNER__INNER_EXTENT, t->run) |
                           FIELD(COMMAND_INNER__INNER_EXTENT_EDGE, t->run_edge));
    SET(COMMAND_STRIDE,
        FIELD(COMMAND_STRIDE__STRIDE, t->stride) | FIELD(COMMAND_STRIDE__REGION, region));
    SET(COMMAND_WAVES,
        FIELD(COMMAND_WAVES__WAVE_OUTER_EXTENT, t->wave_rows) |
            FIELD(COMMAND_WAVES__WAVES0, t->waves[0]) | FIELD(COMMAND_WAVES__WAVES1, t->waves[1]) |
            FIELD(COMMAND_WAVES__WAVES2, t->waves[2]) | FIELD(COMMAND_WAVES__WAVES3, t->waves[3]));
    SET_WIDE(COMMAND_OFFSET, t->offset);
    COMMIT(COMMAND_COMMIT, FIELD(COMMAND_COMMIT__INDEX, index));
    return T3_OKAY;
}

int t3_unmap(struct t3_context *context)
{
    for (unsigned index = 0; index < context->ranges; index++)
        COMMIT(RANGE_COMMIT, FIELD(RANGE_COMMIT__INDEX, index));
    context->ranges = 0;
    return T3_OKAY;
}

static int map(struct t3_context *context, uint32_t first, uint32_t count, enum t3_action action,
               unsigned region, unsigned command)
{
    if (!count) return T3_OKAY;
    SET(RANGE_DISPATCH_INDICES, FIELD(RANGE_DISPATCH_INDICES__FIRST, first) |
                                    FIELD(RANGE_DISPATCH_INDICES__LAST, first + count - 1));
    SET(RANGE_ACTION, FIELD(RANGE_ACTION__REGION, region) | FIELD(RANGE_ACTION__ACTION, action) |
                          FIELD(RANGE_ACTION__COMMAND, command));
    COMMIT(RANGE_COMMIT,
           FIELD(RANGE_COMMIT__INDEX, context->ranges) | FIELD(RANGE_COMMIT__ENABLE, 1));
    context->ranges++;
    return T3_OKAY;
}

int t3_remote_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
                  unsigned command)
{
    return map(context, first, count, T3_ACTION_REMOTE, region, command);
}

int t3_dma_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
               unsigned command)
{
    return map(context, first, count, T3_ACTION_DMA, region, command);
}

int t3_own_map(struct t3_context *context, uint32_t first, uint32_t count, unsigned region,
               unsigned command)
{
    return map(context, first, count, T3_ACTION_OWN, region, command);
}

int t3_window(struct t3_context *context, const struct t3_window *window)
{
    SET(FIRST_WORKGROUP, FIELD(FIRST_WORKGROUP__WORKGROUP, window->first_workgroup));
    SET(WORKGROUPS, FIELD(WORKGROUPS__COUNT, window->workgroups));
    SET(TRACKED_FIRST, FIELD(TRACKED_FIRST__DISPATCH_INDEX, window->tracked_first));
    SET(TRACKED_END, FIELD(TRACKED_END__DISPATCH_INDEX, window->tracked_end));
    SET(SHIFT, FIELD(SHIFT__DISPATCH_INDICES, window->shift));
    SET(CREDIT_WINDOW, FIELD(CREDIT_WINDOW__WORKGROUPS, window->credit_window));
    SET(COMMAND_WINDOW, FIELD(COMMAND_WINDOW__WORKGROUPS, window->command_window));
    SET(TRACKING, FIELD(TRACKING__UPDATES_PER_ATOM, window->updates_per_atom) |
                      FIELD(TRACKING__GENERATION, window->generation));
    return T3_OKAY;
}

int t3_reduce_scatter(struct t3_context *context, const struct t3_ring *ring,
                      const struct t3_transfer *transfer, unsigned region)
{
    uint32_t middle = ring->workgroups - ring->leaving - ring->staying;
    struct t3_window window = {
        .workgroups = ring->workgroups,
        .first_workgroup = ring->first_workgroup,
        .tracked_first = ring->leaving,
        .tracked_end = ring->workgroups,
        .shift = ring->staying,
        .credit_window = ring->credit_window,
        .command_window = ring->command_window,
        .updates_per_atom = ring->updates_per_atom,
        .generation = ring->generation,
    };
    TRY(t3_unmap(context));
    TRY(t3_command(context, TILES, transfer, region));
    TRY(t3_remote_map(context, 0, ring->leaving, region, TILES));
    TRY(t3_dma_map(context, ring->leaving, middle, region, TILES));
    TRY(t3_own_map(context, ring->leaving + middle, ring->staying, region, TILES));
    return t3_window(context, &window);
}

int t3_timeout(struct t3_context *context, uint32_t cycles)
{
    /* The first tick may come at once. */
    uint32_t ticks = cycles / T3_TICK_CYCLES + (cycles % T3_TICK_CYCLES != 0) + 1;
    SET(TIMEOUT, FIELD(TIMEOUT__TICKS, cycles ? ticks : 0));
    return T3_OKAY;
}

int t3_launch(struct t3_context *context)
{
    COMMIT(CONTROL, FIELD(CONTROL__LAUNCH, 1));
    return T3_OKAY;
}

int t3_measure(struct t3_context *context)
{
    SET(CONTROL, FIELD(CONTROL__MEASURE, 1));
    return T3_OKAY;
}

int t3_copy(struct t3_context *context, uint64_t start, const struct t3_transfer *transfer,
            unsigned region)
{
    struct t3_transfer stores = *transfer;
    stores.kind = T3_PACKET_KIND_STORE;
    TRY(t3_command(context, COPIES, &stores, region));
    SET_WIDE(COPY_START, start);
    COMMIT(COPY, FIELD(COPY__COMMAND, COPIES));
    return T3_OKAY;
}

int t3_all_gather(struct t3_context *context, const struct t3_chunk *chunks, unsigned count,
                  unsigned region, void (*arrived)(void *self, unsigned chunk), void *self)
{
    for (unsigned chunk = 0; chunk < count; chunk++) {
        if (chunk) arrived(self, chunk);
        TRY(t3_copy(context, chunks[chunk].start, &chunks[chunk].transfer, region));
    }
    return T3_OKAY;
}

static int runs(const struct t3_context *context)
{
    uint32_t launches = get(context->bus, OF_CONTEXT(context, LAUNCHES));
    return FIELD_OF(LAUNCHES__BEGUN, launches) != FIELD_OF(LAUNCHES__DONE, launches);
}

int t3_wait(struct t3_context *context, unsigned long polls)
{
    while (polls--) {
        uint32_t seen = t3_status(context);
        if (FIELD_OF(STATUS__ERROR, seen)) return T3_REPORTED;
        if (!FIELD_OF(STATUS__PENDING, seen) && !runs(context)) return T3_OKAY;
    }
    return T3_TIMEOUT;
}

int t3_wait_idle(struct t3_context *context, unsigned long polls)
{
    while (polls--) {
        uint32_t seen = t3_status(context);
        if (FIELD_OF(STATUS__ERROR, seen)) return T3_REPORTED;
        if (FIELD_OF(STATUS__IDLE, seen)) return T3_OKAY;
    }
    return T3_TIMEOUT;
}

int t3_abort(struct t3_context *context, unsigned long polls)
{
    SET(CONTROL, FIELD(CONTROL__ABORT, 1));
    return settle(context, polls);
}

uint32_t t3_tiles(const struct t3_context *context)
{
    return FIELD_OF(TILES__COUNT, get(context->bus, OF_CONTEXT(context, TILES)));
}

uint32_t t3_oldest(const struct t3_context *context)
{
    return FIELD_OF(OLDEST__DISPATCH_INDEX, get(context->bus, OF_CONTEXT(context, OLDEST)));
}

int t3_take_error(struct t3_context *context, struct t3_error *error)
{
    struct log log = {OF_CONTEXT(context, ERROR), OF_CONTEXT(context, ERROR_LOCATION),
                      OF_CONTEXT(context, ERROR_ADDRESS_LO), OF_CONTEXT(context, ERROR_ADDRESS_HI)};
    if (!oldest_error(context->bus, log, error)) return 0;
    TRY(put(context->bus, OF_CONTEXT(context, CONTROL), FIELD(CONTROL__DROP_ERROR, 1)));
    return 1;
}

uint32_t t3_error_count(const struct t3_context *context, enum t3_error_code code)
{
#define COUNTED(name)                                                                              \
    if (code == T3_ERROR_CODE_##name)                                                              \
        return FIELD_OF(COUNT_##name##__COUNT,                                                     \
                        get(context->bus, OF_CONTEXT(context, COUNT_##name)));
    T3_COUNTED_OF_CONTEXT(COUNTED)
#undef COUNTED
    return 0;
}

int t3_clear_errors(struct t3_context *context)
{
    SET(CONTROL, FIELD(CONTROL__CLEAR_ERROR, 1));
    return T3_OKAY;
}

int t3_enable_interrupts(struct t3_context *context, unsigned kinds)
{
    SET(INTERRUPT_ENABLE, kinds);
    return T3_OKAY;
}

unsigned t3_take_interrupts(struct t3_context *context)
{
    uint32_t seen = get(context->bus, OF_CONTEXT(context, INTERRUPTS));
    set(context, OF_CONTEXT(context, INTERRUPTS), seen);
    return seen;
}
