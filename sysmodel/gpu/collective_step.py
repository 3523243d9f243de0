"""Steps of a collective on the CUs: tasks of each GPU, written into the tables of the loop."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sysmodel.config.limits import MOST_COLLECTIVE_WAVES as MOST_WAVES

from .collective import begin_tasks, new_tables

__all__ = [
    "WHOLE",
    "Operand",
    "Share",
    "Target",
    "Task",
    "atoms_of",
    "begin_step",
    "reserve_tasks",
    "set_up_collective",
]


_State = TypeVar("_State", bound=Any)


class Operand(NamedTuple):
    """Place from which a task loads.

    Parameters
    ----------
    offset : int
        Offset in atoms from the chunk.
    rotation : int
        Atoms by which the place's data are rotated among a channel's atoms of the output.
    """

    offset: int
    rotation: int = 0


class Target(NamedTuple):
    """Place to which a task stores; see :class:`Operand`.

    Parameters
    ----------
    space : int
        Address space of the stores, which decides whether the stores leave the GPU.
    """

    offset: int
    space: int
    rotation: int = 0


class Share(NamedTuple):
    """Share of the atoms of each channel: the parts from ``first`` on, before ``end``, of equal
    parts.

    Where parts cannot be equal, other ones are larger in the next channel.
    """

    first: int
    end: int
    parts: int


WHOLE = Share(0, 1, 1)


class Task(NamedTuple):
    """Chunk whose operands the CUs add and store.

    Parameters
    ----------
    operands : tuple of Operand
        Places of the operands.
    targets : tuple of Target
        Places to which the sum is stored.
    within : tuple of int or None
        First and end atom of the part of a contiguous chunk that is processed; None for the whole
        chunk.
    share : Share
        Share of each channel's atoms that is processed.
    awaits : bool
        The only operand is the sum that arrives in the same step.
    receiver : int
        GPU for which switches add the stores of all GPUs' tasks; -1 if they do not. All GPUs have
        as many tasks, and the tasks for a receiver have the same place.
    """

    chunk: int
    operands: tuple[Operand, ...]
    targets: tuple[Target, ...]
    within: tuple[int, int] | None = None
    share: Share = WHOLE
    awaits: bool = False
    receiver: int = -1


def set_up_collective(
    state: Any, *, cus: int, waves_per_cu: int, batch_atoms: int, port_cycles: float
) -> None:
    """Set up ``cus`` CUs for collectives.

    ``batch_atoms`` is a wavefront's batch in each channel, ``port_cycles`` the time that a
    channel's share of a CU's port takes for an atom, if a chunk is spread evenly.

    Raises
    ------
    ValueError
        If there are more wavefronts than the model supports.
    """
    waves = cus * waves_per_cu
    if waves > MOST_WAVES:
        raise ValueError(
            f"collective: {cus} CUs of {waves_per_cu} wavefronts are more than the {MOST_WAVES} "
            "that the model supports"
        )
    state.gpu["sum_task"] = -1
    state.fixed["collective_waves"] = waves
    state.fixed["sums_ahead"] = batch_atoms
    state.fixed["waves_per_cu"] = waves_per_cu
    state.fixed["batch_atoms"] = batch_atoms
    state.fixed["port_cycles"] = port_cycles


def reserve_tasks(state: _State, steps: Iterable[Sequence[Task]]) -> _State:
    """Return the state with tables that are long enough for the tasks of some steps of a GPU."""
    lists = list(steps)
    tasks = [task for step in lists for task in step]
    gpus, waves = len(state.gpu), int(state.fixed["collective_waves"][0])
    replaced: _State = state._replace(
        **new_tables(
            gpus,
            len(state.channel) // gpus,
            tasks=max(map(len, lists), default=0),
            operands=max((len(task.operands) for task in tasks), default=0),
            targets=max((len(task.targets) for task in tasks), default=0),
            awaited=_most_atoms(state) if any(task.awaits for task in tasks) else 0,
            summing=waves if any(task.receiver >= 0 for task in tasks) else 0,
        )
    )
    return replaced


def _most_atoms(state: Any) -> int:
    """Count the atoms of the largest chunk in a channel."""
    return int(np.diff(state.chunk_start, axis=1).max(initial=0))


def atoms_of(state: Any, chunk: int, within: tuple[int, int] | None, share: Share = WHOLE) -> int:
    """Count the atoms of a chunk, or of a part of it, in the simulated channels of a GPU."""
    bounds = (_bounds(state, c, chunk, within, share) for c in range(len(state.chunk_start)))
    return int(sum(end - first for first, end in bounds))


def _bounds(
    state: Any, c: int, chunk: int, within: tuple[int, int] | None, share: Share
) -> tuple[int, int]:
    """First and end index of a chunk, or of a part of it, in a channel's chunk table."""
    first, end = map(int, state.chunk_start[c, chunk : chunk + 2])
    if within is not None:
        first, end = first + np.searchsorted(state.chunk_atom[c, first:end], within)
    ends = ((end - first) * one + c % share.parts for one in (share.first, share.end))
    begin, end = (first + int(one) // share.parts for one in ends)
    return begin, end


def begin_step(state: Any, g: int, tasks: Sequence[Task]) -> None:
    """Start GPU ``g`` on its tasks of a step.

    The wavefronts take the tasks in turn, so that stores to several GPUs alternate. With more tasks
    than wavefronts, a wavefront has one after the other.
    """
    waves = int(state.fixed["collective_waves"][0])
    state.gpu["tasks"][g] = len(tasks)
    state.gpu["load_turn"][g] = state.gpu["store_turn"][g] = 0
    for number, task in enumerate(tasks):
        row = state.task[g, number]
        # GPUs wait for the sums of each other's parts, so all tasks are equally fast.
        even = any(one.receiver >= 0 for one in tasks)
        row["waves"] = max(
            1, waves // len(tasks) if even else len(range(number, waves, len(tasks)))
        )
        row["operands"], row["targets"] = len(task.operands), len(task.targets)
        row["awaits"], row["receiver"] = task.awaits, task.receiver
        for place, operand in enumerate(task.operands):
            state.operand[g, number, place] = tuple(operand)
        for place, target in enumerate(task.targets):
            state.target[g, number, place] = tuple(target)
    channels = len(state.channel) // len(state.gpu)
    for c in range(channels):
        _begin_channel(state, g * channels + c, c, tasks)
    _expect_sum(state, g, tasks)
    begin_tasks(state, g)


def _expect_sum(state: Any, g: int, tasks: Sequence[Task]) -> None:
    """Begin to note the atoms of the sum that arrives at a GPU.

    Raises
    ------
    ValueError
        Several sums arrive in the step.
    """
    own = [number for number, task in enumerate(tasks) if task.receiver == g]
    if len(own) > 1:
        raise ValueError(f"{len(own)} sums arrive at GPU {g} in a step; allowed: one")
    state.gpu["sum_task"][g] = own[0] if own else -1
    state.fixed["merges"] = (state.gpu["sum_task"] >= 0).any()
    channels = len(state.channel) // len(state.gpu)
    for table in (state.arrived, state.sums_arrived):
        table[g * channels : (g + 1) * channels] = 0


def _begin_channel(state: Any, q: int, c: int, tasks: Sequence[Task]) -> None:
    """Write what each task has in a channel."""
    channel, stores = state.channel[q], 0
    for number, task in enumerate(tasks):
        first, end = _bounds(state, c, task.chunk, task.within, task.share)
        size = int(state.chunk_size[task.chunk])
        if task.within is not None:
            size = task.within[1] - task.within[0]
        share = (task.share.end - task.share.first) / task.share.parts
        even = size * share / state.fixed["system_channels"][0]
        state.task_part[q, number] = first, end - first, even
        stores += len(task.targets) * (end - first)
    channel["step_stores"], channel["step_stored"] = stores, 0
    channel["batch_size"] = 0
    channel["loading"] = channel["storing"] = 0
    channel["load_wave"] = channel["store_wave"] = -1
    channel["load_try"] = channel["store_try"] = 0
