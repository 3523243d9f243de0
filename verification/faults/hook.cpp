// C interface of wrapper.cpp, with a step function that injects one fault into one instance.

#include <cstring>
#include <vector>

#include "wrapper.h"
// Generated together with the model; it needs the types of wrapper.h.
#include "memories.h"

namespace {

enum Action : uint64_t { kNone, kInvertRow, kInvertWritten, kDead, kEndOfTile };

// Same layout as in hook.py.
struct Fault {
    uint64_t handle, action, cycle;
    uint64_t memory, memories, row, first_bit, second_bit, delay;       // kInvertRow, kInvertWritten
    uint64_t valid, kind, dispatch_index, tile_atoms, ready, number, add;  // kEndOfTile
    uint64_t done, when, where, which;                                  // filled in by the hook
};

constexpr uint64_t kNoBit = ~0ULL;

struct InstanceRecord {
    void* handle;
    uint64_t cycle;
    std::vector<uint64_t> errors;  // of each context
};

Fault* fault = nullptr;
uint64_t irq_word = 0, irq_words_apart = 0, contexts = 0;
std::vector<InstanceRecord> records;
std::vector<std::vector<unsigned char>> before;
uint64_t wait = 0;
bool found = false;

Memory memory_of(void* handle, uint64_t index) {
    return memory(*static_cast<Instance*>(handle)->top->rootp, index);
}

InstanceRecord& record_of(void* handle) {
    for (auto& one : records)
        if (one.handle == handle) return one;
    records.push_back({handle, 0, std::vector<uint64_t>(contexts, kNoBit)});
    return records.back();
}

void invert(void* handle, uint64_t cycle) {
    auto words = memory_of(handle, fault->where);
    unsigned char* row = words.bytes + fault->which * words.row_bytes;
    for (uint64_t bit : {fault->first_bit, fault->second_bit})
        if (bit != kNoBit) row[bit / 8] ^= 1 << bit % 8;
    fault->done = 1;
    fault->when = cycle;
}

void snapshot(void* handle) {
    before.clear();
    for (uint64_t i = 0; i < fault->memories; ++i) {
        auto words = memory_of(handle, fault->memory + i);
        before.emplace_back(words.bytes, words.bytes + words.row_bytes * words.rows);
    }
}

// Finds a row that was written since the snapshot with a value other than zero.
void find_written(void* handle) {
    for (uint64_t i = 0; i < fault->memories; ++i) {
        auto words = memory_of(handle, fault->memory + i);
        if (!std::memcmp(words.bytes, before[i].data(), before[i].size())) continue;
        for (uint64_t row = 0; row < words.rows; ++row) {
            const unsigned char* now = words.bytes + row * words.row_bytes;
            bool any = false;
            for (uint64_t b = 0; b < words.row_bytes; ++b) any |= now[b];
            if (!any || !std::memcmp(now, &before[i][row * words.row_bytes], words.row_bytes))
                continue;
            fault->where = fault->memory + i;
            fault->which = row;
            found = true;
            wait = fault->delay;
            return;
        }
        std::memcpy(before[i].data(), words.bytes, before[i].size());
    }
}

// Called between two cycles.
void invert_bits(void* handle, uint64_t cycle) {
    if (fault->done || cycle < fault->cycle) return;
    if (fault->action == kInvertRow) {
        fault->where = fault->memory;
        fault->which = fault->row;
        invert(handle, cycle);
        return;
    }
    if (!found) {
        if (before.empty()) snapshot(handle);
        find_written(handle);
    }
    if (found && wait-- == 0) invert(handle, cycle);
}

}  // namespace

extern "C" {

// Injects a fault from now on until the next call, and restarts the count of cycles.
void t3_arm(Fault* armed, uint64_t irq, uint64_t apart, uint64_t count) {
    fault = armed;
    irq_word = irq;
    irq_words_apart = apart;
    contexts = count;
    records.clear();
    before.clear();
    found = false;
}

uint64_t t3_fault_words() { return sizeof(Fault) / sizeof(uint64_t); }

// Cycle after which an error of the context was first pending; all ones without an error.
uint64_t t3_error_cycle(void* handle, uint64_t context) {
    return record_of(handle).errors[context];
}

// Returns 1, "active", in every cycle: a fault may come in any of them.
uint64_t t3_fault_step(void* handle, uint64_t* in, uint64_t* out) {
    auto& own = record_of(handle);
    const uint64_t cycle = own.cycle++;
    const bool here = fault && fault->action && fault->handle == reinterpret_cast<uint64_t>(handle);
    if (here && fault->action == kDead && cycle >= fault->cycle) {
        if (!fault->done) fault->when = cycle;
        fault->done = 1;
        std::memset(out, 0, kOutputWords * sizeof(uint64_t));
        return 1;
    }
    if (here && fault->action == kEndOfTile && !fault->done && in[fault->valid] &&
        in[fault->kind] == 1) {
        const bool taken = out[fault->ready];
        if (fault->number == 0) {
            in[fault->tile_atoms] += fault->add;
            fault->where = in[fault->dispatch_index];
            fault->when = cycle;
            fault->done = taken;
        } else if (taken) {
            --fault->number;
        }
    }
    t3_step(handle, in, out);
    if (here && (fault->action == kInvertRow || fault->action == kInvertWritten))
        invert_bits(handle, cycle + 1);
    for (uint64_t context = 0; context < contexts; ++context)
        if (out[irq_word + context * irq_words_apart] && own.errors[context] == kNoBit)
            own.errors[context] = cycle + 1;
    return 1;
}

}  // extern "C"
