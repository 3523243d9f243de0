"""Credit windows and command windows of launches, which the hardware holds without a deadlock."""

from collections.abc import Sequence
from functools import cache

from sysmodel.collectives.launch_map import TrackedSchedule
from sysmodel.collectives.launch_waits import launch_contributions
from sysmodel.collectives.window import smallest_window, widest_window
from sysmodel.config.system import System
from sysmodel.gpu.geometry.chunks import Chunks
from sysmodel.lib.errors import InputError

__all__ = ["credit_windows", "group_workgroups", "launch_windows"]

# Algorithms whose reduce-scatter needs a window of a chunk, and no more.
_BY_CHUNK = ("ring", "direct")


def group_workgroups(chunks: Chunks, system: System) -> int:
    """Workgroups that trigger together: the largest power of two up to ``t3.group_workgroups`` and
    up to the smallest chunk.

    The workgroups of a larger group would wait for each other in a circle: a GPU completes a
    workgroup of a chunk when its neighbour has sent the same workgroup of the chunk before.
    """
    return min(system.t3.group_workgroups, 1 << (min(chunks.sizes).bit_length() - 1))


def credit_windows(chunks: Chunks, system: System, contexts: int = 1) -> tuple[int, int]:
    """Compute credit window and command window of a context's ring, in workgroups.

    Raises
    ------
    InputError
        If a chunk exceeds a window, so that the GPUs could not make progress.
    """
    t3, waves = system.t3, chunks.tiling.waves
    credit_window, commands = _most_windows(chunks, system, contexts)
    ways, per_workgroup = t3.tracker_ways // contexts, waves if t3.granularity == "wavefront" else 1
    chunk = max(chunks.sizes)
    if credit_window < chunk:
        raise InputError(
            "t3.credit_window_workgroups",
            f"a chunk of {chunk} workgroups exceeds the {credit_window} that the tracker's "
            f"{t3.tracker_sets} sets of {ways} ways and a credit window of "
            f"{t3.credit_window_workgroups} hold; allowed: at least the chunk",
        )
    if commands < chunk + credit_window:
        credit_window = commands - chunk
        if credit_window < chunk:
            raise InputError(
                "t3.command_depth",
                f"{t3.command_depth} commands hold {commands} workgroups; allowed: at least twice "
                f"a chunk, {2 * chunk * per_workgroup}",
            )
    return credit_window, commands


def launch_windows(
    chunks: Chunks, system: System, tracked: TrackedSchedule, gpu: int, contexts: int = 1
) -> tuple[int, int]:
    """Compute credit window and command window of a GPU's context, in workgroups.

    Raises
    ------
    InputError
        The GPUs could wait for each other for ever with each window that the hardware holds.
    """
    if tracked.ordered:
        # Contributions to a tile that are admitted one after the other are added in this order.
        held, _ = _held(chunks, system, contexts)
        return min(held, chunks.sizes[gpu]), system.t3.command_depth
    schedule = tracked.schedule
    by_chunk = schedule.operation == "reduce-scatter" and schedule.name in _BY_CHUNK
    if by_chunk and tracked.splits == 1:
        return credit_windows(chunks, system, contexts)
    most, commands = _most_windows(chunks, system, contexts)
    if tracked.splits > 1:
        # Splits of a tile that are admitted one after the other are added in turn.
        most = min(most, min(chunks.sizes) // tracked.splits)
    group = group_workgroups(chunks, system)
    return _without_deadlock(tracked, tuple(chunks.sizes), group, most, commands), commands


def _held(chunks: Chunks, system: System, contexts: int) -> tuple[int, int]:
    """Compute how many workgroups the tracker and the bitmap hold, and the bitmap alone."""
    t3 = system.t3
    tracked = t3.tracker_sets * (t3.tracker_ways // contexts // chunks.tiling.waves)
    return min(t3.credit_window_workgroups, tracked), t3.credit_window_workgroups


def _most_windows(chunks: Chunks, system: System, contexts: int) -> tuple[int, int]:
    """Compute the largest windows that the hardware holds, in workgroups."""
    t3 = system.t3
    credit_window, bitmap = _held(chunks, system, contexts)
    if (group := group_workgroups(chunks, system)) > 1:
        credit_window = min(credit_window, bitmap - group)
    per_workgroup = chunks.tiling.waves if t3.granularity == "wavefront" else 1
    return credit_window, t3.command_depth // per_workgroup


@cache
def _without_deadlock(
    tracked: TrackedSchedule, sizes: Sequence[int], group: int, most: int, commands: int
) -> int:
    """Find the widest credit window up to ``most`` that cannot deadlock.

    Raises
    ------
    InputError
        There is none.
    """
    given = launch_contributions(tracked, sizes, group)
    window = widest_window(given, most, commands) if most > 0 else None
    if window is None:
        name = f"{tracked.schedule.name}'s {tracked.schedule.operation}"
        raise InputError(
            "t3.credit_window_workgroups",
            f"{name} could deadlock with the {most} workgroups that the tracker and the window "
            f"hold and {commands} commands; allowed: at least {smallest_window(given)}, "
            f"and as many commands as slots, {max(given.slots())}",
        )
    return window
