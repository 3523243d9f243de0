"""Faults of links that lose, repeat, corrupt, delay and reorder flits, or fail."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rtl.interface.encodings import ErrorCode

from .bench import Bench
from .link import FLIT_BITS, LATENCY_CYCLES, LINK, PACKETS, Exchange, Wire
from .outcome import Kind, Result, Verdict

__all__ = ["KINDS"]

_SEEDS = 64  # seeds of traffic; the fault-free run of each is stored
_MOST_BURST_FLITS = 8
_MOST_LATE_CYCLES = 1000
_ROUND_TRIP_CYCLES = 18 + 2 * LATENCY_CYCLES  # docs/link.md
# Timeout, negative acknowledgement, replay of the whole replay memory, acknowledgement.
_RECOVERY_CYCLES = LINK.timeout_cycles + 2 * _ROUND_TRIP_CYCLES + LINK.replay_depth
# docs/link.md: the count begins at the last intact flit, sent before the fault, or at the last
# acknowledgement, which arrives a round trip after its packet.
_REPORT_CYCLES = LINK.down_cycles + max(5 + LATENCY_CYCLES, 2 + _ROUND_TRIP_CYCLES)
_NEVER = 1 << 40


def _some_flit(rng: np.random.Generator) -> Wire:
    """Draw a flit: one with a packet, or, less often, any one."""
    data_only = bool(rng.random() < 0.75)
    return Wire(
        way=int(rng.integers(2)),
        data_only=data_only,
        number=int(rng.integers(PACKETS if data_only else 3 * PACKETS)),
    )


def _lost(rng: np.random.Generator) -> Wire:
    flits = int(rng.integers(1, _MOST_BURST_FLITS + 1))
    return replace(_some_flit(rng), copies=(0,) * flits, late=(0,) * flits)


def _duplicated(rng: np.random.Generator) -> Wire:
    again = int(rng.integers(1, _MOST_LATE_CYCLES))
    return replace(_some_flit(rng), copies=(2,), late=(0,), again=again)


def _corrupted(rng: np.random.Generator) -> Wire:
    """Draw one to five inverted bits, or a burst of up to 32."""
    bits = len(FLIT_BITS)
    if rng.random() < 0.5:
        wrong = rng.choice(bits, rng.integers(1, 6), replace=False)
    else:
        inside = np.flatnonzero(rng.integers(0, 2, 31))
        wrong = rng.integers(bits - 31) + np.concatenate([[0], 1 + inside])
    return replace(_some_flit(rng), copies=(1,), late=(0,), wrong=tuple(int(b) for b in wrong))


def _delayed(rng: np.random.Generator) -> Wire:
    late = int(rng.integers(1, _MOST_LATE_CYCLES))
    return replace(_some_flit(rng), copies=(1,), late=(late,))


def _reordered(rng: np.random.Generator) -> Wire:
    flits = int(rng.integers(2, _MOST_BURST_FLITS + 1))
    order = np.arange(flits)
    while (order == np.arange(flits)).all():
        order = rng.permutation(flits)
    late = tuple(int(delay) for delay in order - np.arange(flits))
    return replace(_some_flit(rng), copies=(1,) * flits, late=late)


def _interrupted(rng: np.random.Generator) -> Wire:
    begin = int(rng.integers(0, 4 * PACKETS))
    length = int(rng.integers(2, 2 * LINK.down_cycles))
    return Wire(way=int(rng.integers(-1, 2)), dark=(begin, begin + length))


def _dead(rng: np.random.Generator) -> Wire:
    return Wire(way=int(rng.integers(-1, 2)), dark=(int(rng.integers(0, 4 * PACKETS)), _NEVER))


def _inject(
    bench: Bench, rng: np.random.Generator, choose: Callable[[np.random.Generator], Wire]
) -> Result | None:
    seed, wire = int(rng.integers(_SEEDS)), choose(rng)
    normal = bench.link.fault_free(seed)
    dark = 0 if wire.dark is None else min(wire.dark[1] - wire.dark[0], LINK.down_cycles * 2)
    most = normal.cycles + dark + 2 * (_REPORT_CYCLES + _RECOVERY_CYCLES)
    found = bench.link.run(seed, wire, most=most)
    return _judge(seed, wire, found, normal)


def _judge(seed: int, wire: Wire, found: Exchange, normal: Exchange) -> Result | None:
    """Judge a run; None if the fault did not occur."""
    if found.begin is None:
        return None
    injected = f"traffic {seed}, {wire}"
    if not found.right:
        return Result(Verdict.SILENT, injected, detail=f"delivered {found.delivered}")
    complete = found.delivered == (PACKETS, PACKETS)
    errors = [error for error in found.error if error is not None]
    if errors:
        number, cycle = min(errors, key=lambda error: error[1])
        code, cycles = ErrorCode(number), cycle - found.begin
        outcome = Verdict.REPORTED
        if code is not ErrorCode.LINK_DOWN or wire.dark is None:
            outcome = Verdict.MISREPORTED
        elif cycles > _REPORT_CYCLES or not (complete or wire.dark[1] == _NEVER):
            outcome = Verdict.HANG  # late, or no delivery after the interruption
        return Result(
            outcome, injected, code.name, report_cycles=cycles, detail=f"cycle {cycle}, {found}"
        )
    unreported = wire.dark is not None and wire.dark[1] == _NEVER
    dark = 0 if wire.dark is None or unreported else wire.dark[1] - wire.dark[0]
    delay = max(0, found.cycles - normal.cycles - dark)
    if not complete or unreported or delay > _RECOVERY_CYCLES:
        return Result(Verdict.HANG, injected, delay_cycles=delay, detail=str(found))
    outcome = Verdict.CORRECTED if found.replays or found.corrupt else Verdict.HARMLESS
    return Result(outcome, injected, delay_cycles=delay)


def _kind(
    name: str,
    injected: str,
    choose: Callable[[np.random.Generator], Wire],
    required: str = "Every packet is delivered once, in order and unchanged, some cycles late.",
) -> Kind:
    return Kind(
        name,
        injected,
        required,
        share=5,
        inject=lambda bench, rng: _inject(bench, rng, choose),
        report_bound=(lambda bench: _REPORT_CYCLES) if choose in (_interrupted, _dead) else None,
        delay_bound=(lambda bench: _RECOVERY_CYCLES) if choose is not _dead else None,
    )


KINDS = (
    _kind("flit-lost", f"One to {_MOST_BURST_FLITS} flits in a row do not arrive.", _lost),
    _kind(
        "flit-duplicated",
        f"A flit arrives a second time, up to {_MOST_LATE_CYCLES} cycles later.",
        _duplicated,
    ),
    _kind(
        "flit-corrupted",
        "One to five bits of a flit, or a burst of up to 32, are inverted.",
        _corrupted,
    ),
    _kind("flit-delayed", f"A flit arrives up to {_MOST_LATE_CYCLES} cycles late.", _delayed),
    _kind(
        "flits-reordered", f"Two to {_MOST_BURST_FLITS} flits arrive in another order.", _reordered
    ),
    _kind(
        "link-interrupted",
        f"No flit arrives in one or both directions for up to {2 * LINK.down_cycles} cycles.",
        _interrupted,
        "When the link works again, every packet is delivered once, in order and unchanged; "
        "after a long interruption the endpoint reports `LINK_DOWN`.",
    ),
    _kind(
        "link-dead",
        "From some time on, no flit arrives in one or both directions.",
        _dead,
        "The endpoint reports `LINK_DOWN`; the delivered packets are right.",
    ),
)
