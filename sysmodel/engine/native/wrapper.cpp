// C interface of one compiled component; words.h, made with it, moves the words of its ports.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "Vt3.h"
#include "Vt3___024root.h"
#include "verilated.h"
#if VM_TRACE_VCD
#include "verilated_vcd_c.h"
#endif
#include "words.h"

// Of Verilator's model: its phases, which `eval` runs.
bool Vt3___024root___eval_phase__ico(Vt3___024root*);
void Vt3___024root___eval_triggers_vec__act(Vt3___024root*);
void Vt3___024root___eval_nba(Vt3___024root*);

namespace {

#if VM_TRACE_VCD
constexpr uint64_t kPeriod = 1000;  // one cycle is one nanosecond in the waveform

template <class Root>
void evaluate_low(Vt3& top, Root& root) {
    root.clk = 0;
#define T3_DOWN(number) root.gated_##number##_clk = 0;
    T3_GATED(T3_DOWN)
    top.eval();
}

// The clock of a gated block stays low while its clock enable is low.
template <class Root>
void raise_clocks(Vt3& top, Root& root) {
    root.clk = 1;
#define T3_RAISE(number) root.gated_##number##_clk = root.enable_##number;
    T3_GATED(T3_RAISE)
    top.eval();
}

#else

// In most cycles few signals change, and eval() would spend more time on its checks for changes than
// on the changes. This file calls the evaluation of two parts directly: the logic behind the inputs,
// then the logic behind the clocks of the enabled blocks. The clock signals themselves stay constant.

// Evaluate the logic behind inputs.
template <class Root>
void evaluate_inputs(Root& root) {
    if constexpr (requires { root.__VicoFirstIteration; }) {
        root.__VicoFirstIteration = 1;
        Vt3___024root___eval_phase__ico(&root);
    }
}

// The model's bits for the rising edges of each clock.
template <class Root>
struct Edges {
    using Bits = decltype(Root::__VnbaTriggered);
    Bits of_clk;
#define T3_EDGE(number) Bits of_gated_##number;
    T3_GATED(T3_EDGE)

    explicit Edges(Root& root) {
        of_clk = found(root, root.clk);
#define T3_FIND(number) of_gated_##number = found(root, root.gated_##number##_clk);
        T3_GATED(T3_FIND)
    }

    static Bits found(Root& root, CData& clock) {
        clock = 1;
        Vt3___024root___eval_triggers_vec__act(&root);
        const Bits bits = root.__VactTriggered;
        clock = 0;
        Vt3___024root___eval_triggers_vec__act(&root);
        return bits;
    }

    static void add(Bits& bits, const Bits& more, uint64_t on) {
        for (size_t word = 0; word < sizeof(Bits) / sizeof(QData); ++word)
            bits[word] |= more[word] & -on;
    }

    // Clock the enabled blocks.
    void raise(Root& root) const {
        Bits bits{};
        add(bits, of_clk, 1);
#define T3_ADD(number) add(bits, of_gated_##number, root.enable_##number);
        T3_GATED(T3_ADD)
        root.__VnbaTriggered = bits;
        Vt3___024root___eval_nba(&root);
    }
};

// Whether a clock edge may change a register.
template <class Root>
bool is_enabled(const Root& root) {
    uint64_t enabled = kAlwaysClocked;
#define T3_ENABLE(number) enabled |= root.enable_##number;
    T3_GATED(T3_ENABLE)
    return enabled;
}

#endif

// Count the blocks that are clocked in this cycle.
template <class Root>
void count_clocked(const Root& root, uint64_t* clocked) {
#define T3_COUNT(number) clocked[number] += root.enable_##number;
    T3_GATED(T3_COUNT)
}

struct Instance {
    // One context for each instance: instances in several threads share nothing.
    std::unique_ptr<VerilatedContext> context;
    std::unique_ptr<Vt3> top;
    uint64_t clocked[kGated + 1];
#if VM_TRACE_VCD
    std::unique_ptr<VerilatedVcdC> waveform;
    std::string path;
    uint64_t first = 0, last = 0, cycle = 0;
#else
    std::unique_ptr<const Edges<Vt3___024root>> edges;
#endif
};

}  // namespace

extern "C" {

uint64_t t3_input_words() { return kInputWords; }

uint64_t t3_output_words() { return kOutputWords; }

// Kinds of the gated blocks, in order, separated by blanks.
const char* t3_gated_kinds() { return kGatedKinds; }

// Cycles since the last reset in which each of them had a clock.
const uint64_t* t3_clocked(void* handle) { return static_cast<Instance*>(handle)->clocked; }

void t3_free(void* handle) {
    auto* self = static_cast<Instance*>(handle);
#if VM_TRACE_VCD
    if (self->waveform) self->waveform->close();
#endif
    delete self;
}

void t3_reset(void* handle, uint64_t* out) {
    auto* self = static_cast<Instance*>(handle);
#if VM_TRACE_VCD
    if (self->waveform) self->waveform->close();
    self->waveform.reset();
    self->cycle = 0;
#endif
    // A new model has the values of power-up, in memories as well. A context remembers its models.
    self->top.reset();
    self->context = std::make_unique<VerilatedContext>();
    self->context->traceEverOn(VM_TRACE);
    self->top = std::make_unique<Vt3>(self->context.get());
    std::fill_n(self->clocked, kGated, 0);
#if VM_TRACE_VCD
    if (!self->path.empty()) {
        self->waveform = std::make_unique<VerilatedVcdC>();
        self->top->trace(self->waveform.get(), 99);
        self->waveform->open(self->path.c_str());
    }
#endif
#if VM_TRACE_VCD
    self->top->clk = 1;  // no edge: nothing came before
    self->top->eval();
#else
    self->top->eval();
    self->edges = std::make_unique<Edges<Vt3___024root>>(*self->top->rootp);
#endif
    get_outputs(*self->top->rootp, out);
}

void* t3_new() {
    auto* self = new Instance;
    uint64_t ignored[kOutputWords];
    t3_reset(self, ignored);
    return self;
}

// Returns whether a clock was raised: 0 if all of the hardware slept.
uint64_t t3_step(void* handle, const uint64_t* in, uint64_t* out) {
    auto* self = static_cast<Instance*>(handle);
    auto& root = *self->top->rootp;
#if VM_TRACE_VCD
    set_inputs(root, in);
    // A cycle is drawn from its rising edge on, with its own inputs.
    const bool drawn = self->waveform && self->cycle >= self->first && self->cycle <= self->last;
    if (drawn) {
        self->top->eval();
        self->waveform->dump(self->cycle * kPeriod);
    }
    evaluate_low(*self->top, root);
    if (drawn) self->waveform->dump(self->cycle * kPeriod + kPeriod / 2);
    ++self->cycle;
    const bool active = true;  // a waveform has every cycle
    count_clocked(root, self->clocked);
    raise_clocks(*self->top, root);
#else
    set_inputs(root, in);
    evaluate_inputs(root);
    const bool active = is_enabled(root);
    if (active) {
        count_clocked(root, self->clocked);
        self->edges->raise(root);
    }
#endif
    get_outputs(root, out);
    return active;
}

#if VM_TRACE_VCD
// Writes a waveform of the cycles from first to last, counted from the reset that this call makes.
void t3_trace(void* handle, const char* path, uint64_t first, uint64_t last) {
    auto* self = static_cast<Instance*>(handle);
    self->path = path;
    self->first = first;
    self->last = last;
    uint64_t ignored[kOutputWords];
    t3_reset(handle, ignored);
}
#endif

}  // extern "C"
