"""State of the golden model: one record or array of records for each block and memory."""

from typing import NamedTuple

from .records import Record, Records, Words

__all__ = ["GoldenState"]


class GoldenState(NamedTuple):
    """State of one GPU's T3 hardware.

    All parameters and registers are in the state, so that one compilation serves every geometry.
    """

    config: Record
    gpu: Record  # blocks that exist once
    turns: Words  # bits of a dispatch index's bank that each wavefront inverts
    contexts: Records  # blocks of each context
    regions: Records  # [context, index], of the launch
    ranges: Records
    commands: Records
    programmed_regions: Records  # [context, index], of the next launch
    programmed_ranges: Records
    programmed_commands: Records
    channels: Records  # blocks of each channel
    slots: Records  # [channel, context and egress slot]
    remote: Records  # [channel, context, position]
    banks: Records
    entries: Records  # [bank, row, way]
    table: Records  # [context, dispatch index modulo credit window]
    complete: Words  # [context, dispatch index modulo credit window]: the workgroup is complete
    ready: Records  # [context, position in the buffer of the queue of ready commands]
    ready_errors: Words  # bit errors in the words of ``ready``
    registers: Records  # [page, word]
    interrupts: Records  # [page]
    logs: Records  # [page]
    activity: Record  # counts clock enables, like the following fields
    channel_activity: Records
    bank_activity: Records
    context_activity: Records
    clocked: Words  # [kind of clock-gated block]: cycles in which its clock was enabled
    limits: Words  # [context, range]: the peers admit smaller dispatch indices
    gates: Records  # [context, range]
