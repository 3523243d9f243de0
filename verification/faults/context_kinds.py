"""Faults while two contexts are active: the loss of one must not affect the other."""

from functools import partial

import numpy as np

from rtl.interface.encodings import ErrorCode

from .bench import Bench
from .hook import FAULT
from .judge import judge, judge_all, report_bound, run_bound
from .memory_kinds import TARGETS, Target, described, may_report, memory_fault
from .outcome import Kind, Result, Verdict
from .ring import GPUS, Ring, Setup

__all__ = ["CONTEXTS", "KINDS"]

CONTEXTS = 2
_SETUP = Setup(contexts=CONTEXTS, timeout_cycles=4096)


def _inject(target: Target, bits: int, bench: Bench, rng: np.random.Generator) -> Result | None:
    ring = bench.ring(_SETUP)
    fault, gpu = memory_fault(ring, target, bits, rng)
    runs = ring.run_all(fault, _SETUP, bound=run_bound(ring))
    if not fault["done"]:
        return None
    return judge_all(
        ring,
        runs,
        _concerned(ring, target, int(fault["where"])),
        injected=f"GPU {gpu}, {described(ring, fault)}",
        begin=int(fault["when"]),
        codes=(target.code, ErrorCode.TIMEOUT) if bits == 2 else (),
        tile=partial(may_report, ring, target, fault, gpu),
    )


def _concerned(ring: Ring, target: Target, number: int) -> set[int]:
    """Contexts that may own rows of a memory."""
    if target.name == "tracker-entry":
        group = ring.hooked.group(
            target.pattern
        )  # one memory per way; each context has half of them
        return {(number - group[0]) * CONTEXTS // len(group)}
    if target.shared:
        return set(range(CONTEXTS))
    return {number - ring.hooked.group(target.pattern)[0]}


def _any_cycle(ring: Ring, rng: np.random.Generator) -> int:
    return int(rng.integers(ring.launch_cycle, ring.fault_free.cycles))


def _aborted(bench: Bench, rng: np.random.Generator) -> Result:
    ring = bench.ring(_SETUP)
    context, cycle = int(rng.integers(CONTEXTS)), _any_cycle(ring, rng)
    nothing = np.zeros((), FAULT)
    runs = ring.run_all(nothing, _SETUP, bound=run_bound(ring), abort=(context, cycle))
    injected = f"context {context} is aborted in cycle {cycle}"
    if runs[context].aborting:
        return Result(Verdict.HANG, injected, detail="the abort does not end")
    other = 1 - context
    return judge(ring, runs[other], injected=injected, begin=cycle, codes=(), context=other)


def _kernel_stops(bench: Bench, rng: np.random.Generator) -> Result:
    ring = bench.ring(_SETUP)
    gpu, context = int(rng.integers(GPUS)), int(rng.integers(CONTEXTS))
    cycle = _any_cycle(ring, rng)
    nothing, stop = np.zeros((), FAULT), (gpu, context, cycle)
    runs = ring.run_all(nothing, _SETUP, bound=run_bound(ring), stop=stop)
    return judge_all(
        ring,
        runs,
        {context},
        injected=f"the kernel of context {context} on GPU {gpu} stops in cycle {cycle}",
        begin=cycle,
        codes=(ErrorCode.TIMEOUT,),
    )


_REQUIRED = {
    1: "The sums of both contexts are right.",
    2: "The context that lost the data reports {code} or `TIMEOUT`, or the fault is harmless; the "
    "sum of the other context is right.",
}

KINDS = (
    *(
        Kind(
            name=f"contexts-{target.name}-{'single' if bits == 1 else 'double'}",
            injected="Two contexts are active. "
            f"{'One bit is' if bits == 1 else 'Two bits are'} inverted in {target.words}.",
            required=_REQUIRED[bits].format(code=f"`{target.code.name}`"),
            share=1,
            inject=partial(_inject, target, bits),
            report_bound=report_bound(_SETUP) if bits == 2 else None,
        )
        for target in TARGETS
        for bits in (1, 2)
    ),
    Kind(
        name="contexts-aborted",
        injected="Two contexts are active. The driver aborts one of them on all GPUs at any time.",
        required="The fault is harmless: the sum of the other context is right, and the abort "
        "ends.",
        share=1,
        inject=_aborted,
    ),
    Kind(
        name="contexts-kernel-stops",
        injected="Two contexts are active. The kernel of one dispatches no workgroup from any time "
        "on.",
        required="That context reports `TIMEOUT`, or the fault is harmless; the sum of the other "
        "context is right.",
        share=1,
        inject=_kernel_stops,
        report_bound=report_bound(_SETUP),
    ),
)
