"""Allocation of the golden model's state for a geometry."""

from typing import Any

import numpy as np

from rtl.parameters import T3Parameters
from rtl.registers.map import CONTEXT as CONTEXT_PAGE

from .activity.channels import CHANNEL_ACTIVITY
from .activity.contexts import CONTEXT_ACTIVITY
from .activity.counters import ACTIVITY
from .activity.kinds import KINDS
from .activity.tracker import BANK_ACTIVITY
from .channel.channel import CHANNEL
from .context.unit import CONTEXT
from .dma.lane import SLOT
from .model import GPU
from .parameters import CONFIG, load_parameters
from .payloads.layouts import COMMAND, PACKET, RANGE, READY, REGION
from .protected_queue import RING
from .registers.errors import LOG
from .registers.interrupts import INTERRUPTS
from .registers.words import REGISTER, REGISTERS, describe_registers
from .state import GoldenState
from .tracker.bank import BANK
from .tracker.table import ENTRY
from .trigger.dispatch_gate import GATE
from .trigger.trigger import ROW

__all__ = ["TYPES", "new_state"]

_WORD = np.dtype(np.int64)
TYPES: dict[str, np.dtype[Any]] = dict(
    config=CONFIG,
    gpu=GPU,
    turns=_WORD,
    contexts=CONTEXT,
    regions=REGION,
    ranges=RANGE,
    commands=COMMAND,
    programmed_regions=REGION,
    programmed_ranges=RANGE,
    programmed_commands=COMMAND,
    channels=CHANNEL,
    slots=SLOT,
    remote=PACKET,
    banks=BANK,
    entries=ENTRY,
    table=ROW,
    complete=_WORD,
    ready=READY,
    ready_errors=_WORD,
    registers=REGISTER,
    interrupts=INTERRUPTS,
    logs=LOG,
    activity=ACTIVITY,
    channel_activity=CHANNEL_ACTIVITY,
    bank_activity=BANK_ACTIVITY,
    context_activity=CONTEXT_ACTIVITY,
    clocked=_WORD,
    limits=_WORD,
    gates=GATE,
)
"""Type of the elements of each array of the state."""


def _turn(p: T3Parameters, wavefront: int) -> int:
    """Return the bits of a dispatch index's bank that a wavefront inverts: the wavefront's lowest
    bit inverts the highest one."""
    highest = (p.banks - 1).bit_length() - 1
    inverted = (highest - bit for bit in range(p.wavefront_bits) if wavefront >> bit & 1)
    return sum(1 << bit for bit in inverted if bit >= 0)


def _shapes(p: T3Parameters) -> dict[str, int | tuple[int, ...]]:
    """Return the shape of each array of the state."""
    return dict(
        config=1,
        gpu=1,
        turns=p.wavefronts,
        contexts=p.contexts,
        regions=(p.contexts, p.regions),
        ranges=(p.contexts, p.ranges),
        commands=(p.contexts, p.commands),
        programmed_regions=(p.contexts, p.regions),
        programmed_ranges=(p.contexts, p.ranges),
        programmed_commands=(p.contexts, p.commands),
        channels=p.channels,
        slots=(p.channels, p.contexts * p.egress_slots),
        remote=(p.channels, p.contexts, p.remote_depth),
        banks=p.banks,
        entries=(p.banks, p.sets // p.banks, p.ways),
        table=(p.contexts, p.credit_window),
        complete=(p.contexts, p.credit_window),
        ready=(p.contexts, RING * p.command_depth),
        ready_errors=(p.contexts, RING * p.command_depth),
        registers=(CONTEXT_PAGE + p.contexts, REGISTERS),
        interrupts=CONTEXT_PAGE + p.contexts,
        logs=CONTEXT_PAGE + p.contexts,
        activity=1,
        channel_activity=p.channels,
        bank_activity=p.banks,
        context_activity=p.contexts,
        clocked=len(KINDS),
        limits=(p.contexts, p.ranges),
        gates=(p.contexts, p.ranges),
    )


def new_state(parameters: T3Parameters) -> GoldenState:
    """Allocate the state of a GPU of this geometry.

    :func:`~sysmodel.engine.golden.reset` sets the state to its values after reset.
    """
    p, shapes = parameters, _shapes(parameters)
    arrays = {name: np.zeros(shapes[name], TYPES[name]) for name in GoldenState._fields}
    records = {name: arrays[name][0] for name in ("config", "gpu", "activity")}
    state = GoldenState(**arrays | records)
    load_parameters(state.config, p)
    for wavefront in range(p.wavefronts):
        state.turns[wavefront] = _turn(p, wavefront)
    describe_registers(p, state.registers)
    return state
