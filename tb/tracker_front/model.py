"""Golden front of the tracker behind the ports of the RTL front."""

from collections.abc import Mapping, Sequence

from sysmodel.engine.golden import GoldenState
from sysmodel.engine.golden.channel.queues import Q, begin_queues, end_queues, front, mark
from sysmodel.engine.golden.tracker.bank import EVENTS
from sysmodel.engine.golden.tracker.front import step_front
from tb.golden import end_cycle, oldest, put, words

__all__ = ["step_unit"]


def step_unit(
    state: GoldenState, offered: Sequence[Mapping[str, Mapping]], spaces: Sequence[bool]
) -> tuple[list[set[str]], list[list[int] | None]]:
    """Advance the front of all channels by one cycle, with these events, which stay until they
    move, and space in these banks, whose pipelines are left out. Return the inputs of each channel
    that move, and the event that each bank gets in the next cycle, or None."""
    moved, banks, slot = [], state.banks, state.gpu["cycle"] % EVENTS
    for channel, inputs in zip(state.channels, offered, strict=True):
        for name, values in inputs.items():
            channel["queued"] |= mark(getattr(Q, name))
            put(channel[name][front(channel["heads"], getattr(Q, name))], values)
    banks["clearing"], banks["in_pipeline"] = [not space for space in spaces], 0
    step_front(state)
    for channel, inputs in zip(state.channels, offered, strict=True):
        end_queues(channel, *begin_queues(channel))
        moved.append({name for name in inputs if oldest(channel, name) is None})
    end_cycle(state)
    return moved, [
        words(bank["events"][slot]["tile"]) if bank["in_pipeline"] else None for bank in banks
    ]
