"""Faults of GPUs that stop, and of software that announces or expects wrong contributions."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rtl.interface.encodings import ErrorCode
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, I, O

from .bench import Bench
from .hook import FAULT
from .judge import judge, report_bound, run_bound
from .outcome import Kind, Result, Verdict
from .ring import CHANNELS, GPUS, NEVER_STARTS, Ring, Setup

__all__ = ["KINDS"]

_SETUP = Setup()
_CROWDED = Setup(waves_n=2, tile_columns=9, timeout_cycles=1 << 14)
_DEAD, _END_OF_TILE = 3, 4
_MOST_SKEW_CYCLES = 300
_WAIT_CYCLES = 2000, 6000


def _skewed(rng: np.random.Generator) -> Setup:
    return replace(_SETUP, skew=tuple(int(s) for s in rng.integers(0, _MOST_SKEW_CYCLES, GPUS)))


def _never_starts(bench: Bench, rng: np.random.Generator) -> Result:
    """Never launch the kernel of one or two GPUs."""
    ring, setup = bench.ring(_SETUP), _skewed(rng)
    idle = [int(g) for g in rng.choice(GPUS, rng.integers(1, GPUS), replace=False)]
    skew = tuple(NEVER_STARTS if g in idle else s for g, s in enumerate(setup.skew))
    run = ring.run(np.zeros((), FAULT), replace(setup, skew=skew), bound=run_bound(ring))
    return judge(
        ring,
        run,
        injected=f"GPUs {idle} never start",
        begin=ring.launch_cycle,
        codes=(ErrorCode.TIMEOUT,),
    )


def _kernel_stops(bench: Bench, rng: np.random.Generator) -> Result:
    ring, setup = bench.ring(_SETUP), _skewed(rng)
    gpu, cycle = int(rng.integers(GPUS)), _any_cycle(ring, rng)
    run = ring.run(np.zeros((), FAULT), setup, bound=run_bound(ring), stop=(gpu, 0, cycle))
    return judge(
        ring,
        run,
        injected=f"the kernel of GPU {gpu} stops in cycle {cycle}",
        begin=cycle,
        codes=(ErrorCode.TIMEOUT,),
    )


def _hardware_stops(bench: Bench, rng: np.random.Generator) -> Result:
    ring, setup = bench.ring(_SETUP), _skewed(rng)
    gpu, cycle = int(rng.integers(GPUS)), _any_cycle(ring, rng)
    fault = _fault(ring, gpu, _DEAD)
    fault["cycle"] = cycle
    run = ring.run(fault, setup, bound=run_bound(ring), dead=gpu)
    return judge(
        ring,
        run,
        injected=f"GPU {gpu} is dead from cycle {cycle} on",
        begin=cycle,
        codes=(ErrorCode.TIMEOUT,),
        tile=lambda reporter, dispatch_index: reporter != gpu,
        at_end=True,
    )


def _any_cycle(ring: Ring, rng: np.random.Generator) -> int:
    return int(rng.integers(ring.launch_cycle, ring.fault_free.cycles))


def _fault(ring: Ring, gpu: int, action: int) -> np.ndarray:
    fault = np.zeros((), FAULT)
    fault["handle"], fault["action"] = ring.machine.instances[gpu].handle, action
    return fault


def _wrong_tile_atoms(
    bench: Bench,
    rng: np.random.Generator,
    tile_atoms: int,
    codes: tuple[ErrorCode, ...],
    *,
    at_end: bool = False,
) -> Result | None:
    """Change the size in one end-of-tile marker; return None if the tile is not tracked."""
    ring = bench.ring(_SETUP)
    gpu, channel = int(rng.integers(GPUS)), int(rng.integers(CHANNELS))
    inputs, outputs = channel * CHANNEL_INPUTS, channel * CHANNEL_OUTPUTS
    fault = _fault(ring, gpu, _END_OF_TILE)
    for name in ("valid", "kind", "dispatch_index", "tile_atoms"):
        fault[name] = inputs + getattr(I, f"stores_{name}")
    fault["ready"] = outputs + O.stores_ready
    number = int(rng.integers(ring.kernel.workgroups * ring.kernel.waves // CHANNELS))
    fault["number"] = number
    fault["add"] = np.int64(tile_atoms).astype(np.uint64)
    run = ring.run(fault, _SETUP, bound=run_bound(ring))
    dispatch_index = int(fault["where"])
    if not fault["done"] or dispatch_index < ring.tracked_first(gpu):
        return None
    return judge(
        ring,
        run,
        injected=f"GPU {gpu}, end-of-tile marker {number} of channel {channel}, "
        f"dispatch index {dispatch_index}, "
        f"announces {tile_atoms:+} atoms in cycle {fault['when']}",
        begin=int(fault["when"]),
        codes=codes,
        tile=lambda reporter, found: reporter != gpu or found == dispatch_index,
        at_end=at_end,
    )


def _wrong_shares(
    bench: Bench,
    rng: np.random.Generator,
    shares: int,
    codes: tuple[ErrorCode, ...],
    *,
    at_end: bool = False,
) -> Result:
    """Program one GPU with a wrong number of shares."""
    ring, setup = bench.ring(_SETUP), _skewed(rng)
    gpu = int(rng.integers(GPUS))
    setup = replace(setup, shares=tuple(shares if g == gpu else 2 for g in range(GPUS)))
    run = ring.run(np.zeros((), FAULT), setup, bound=run_bound(ring))
    return judge(
        ring,
        run,
        injected=f"GPU {gpu} waits for {shares} shares of each tile",
        begin=ring.launch_cycle,
        codes=codes,
        at_end=at_end,
    )


def _too_many_announced(bench: Bench, rng: np.random.Generator) -> Result | None:
    codes = (ErrorCode.TIMEOUT,)
    if rng.random() < 0.5:
        return _wrong_tile_atoms(bench, rng, int(rng.integers(1, 256)), codes)
    return _wrong_shares(bench, rng, 3, codes)


def _too_few_announced(bench: Bench, rng: np.random.Generator) -> Result | None:
    codes = (*(ErrorCode.OVERRUN, ErrorCode.STORE_LATE, ErrorCode.PACKET_LATE, ErrorCode.TIMEOUT),)
    if rng.random() < 0.5:
        return _wrong_tile_atoms(bench, rng, -int(rng.integers(1, 17)), codes, at_end=True)
    return _wrong_shares(bench, rng, 1, codes, at_end=True)


def _table_full(bench: Bench, rng: np.random.Generator) -> Result | None:
    """Leave the context fewer ways than a workgroup needs, with one GPU late; return None if the
    tiles fit nevertheless."""
    ring = bench.ring(_CROWDED)
    late, wait = int(rng.integers(GPUS)), int(rng.integers(*_WAIT_CYCLES))
    skew = tuple(wait if g == late else 0 for g in range(GPUS))
    ways = int(rng.integers(1, ring.waves))
    setup = replace(_CROWDED, skew=skew, ways=ways)
    run = ring.run(np.zeros((), FAULT), setup, bound=run_bound(ring))
    result = judge(
        ring,
        run,
        injected=f"{ways} ways for workgroups of {ring.waves} wavefronts, GPU {late} {wait} late",
        begin=ring.launch_cycle,
        codes=(ErrorCode.SET_FULL,),
    )
    return None if result.outcome is Verdict.HARMLESS else result


def _kind(
    name: str,
    injected: str,
    required: str,
    inject: Callable[[Bench, np.random.Generator], Result | None],
    setup: Setup = _SETUP,
) -> Kind:
    return Kind(name, injected, required, share=1, inject=inject, report_bound=report_bound(setup))


KINDS = (
    _kind(
        "gpu-never-starts",
        "The kernels of one or two of the three GPUs are never launched.",
        "`TIMEOUT` is reported with the oldest incomplete tile.",
        _never_starts,
    ),
    _kind(
        "kernel-stops",
        "A GPU's kernel dispatches no workgroup from any time on; its memory, link and T3 go on.",
        "`TIMEOUT` is reported with the oldest incomplete tile, or the fault is harmless: the "
        "kernel had stored everything.",
        _kernel_stops,
    ),
    _kind(
        "gpu-stops",
        "A GPU's T3 is dead from any time on, including its link and its registers.",
        "Another GPU reports `TIMEOUT`, or the fault is harmless: the sums of the other GPUs are "
        "right.",
        _hardware_stops,
    ),
    _kind(
        "too-many-announced",
        "An end-of-tile marker announces 1 to 255 atoms too many, or a GPU is programmed to wait "
        "for three shares of each tile.",
        "`TIMEOUT` is reported with the tile.",
        _too_many_announced,
    ),
    _kind(
        "too-few-announced",
        "An end-of-tile marker announces 1 to 16 of its 16 atoms too few, or a GPU is programmed "
        "to wait for one share of each tile.",
        "`OVERRUN` is reported with the tile; a store or packet that comes after the tile seemed "
        "complete gives `STORE_LATE`, `PACKET_LATE` or, in the end, `TIMEOUT`.",
        _too_few_announced,
    ),
    _kind(
        "table-full",
        "Privileged software takes ways from the context in mid-run: its tracker holds fewer "
        "workgroups than its credit window admits, and a late neighbour delays their completion.",
        "`SET_FULL` is reported with the refused tile; no entry is overwritten.",
        _table_full,
        _CROWDED,
    ),
)
