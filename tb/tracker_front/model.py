"""Golden front of the tracker behind the ports of the RTL's."""

from collections.abc import Mapping, Sequence

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.channel.queues import (
    D,
    Q,
    begin_queues,
    end_queues,
    front,
    has,
    has_space,
    mark,
)
from sysmodel.engine.golden.tracker.bank import EVENTS
from sysmodel.engine.golden.tracker.front import step_front
from tb.golden import golden_state, put, words

__all__ = ["Model"]

_SOURCES = {"issue_acks": Q.issue_acks, "ends": Q.ends}


class Model:
    """Front of all channels and banks, without the banks' pipelines."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)

    def candidate(self, channel: int) -> int | None:
        """Return the bank of the channel's next event."""
        own = self.state.channels[channel]
        if not has(own["queued"], Q.candidates):
            return None
        return int(own["candidates"][front(own["heads"], Q.candidates)]["bank"])

    @property
    def empty(self) -> int:
        """A bit for each context: it has no candidate."""
        waiting = self.state.contexts["tracker"]["candidates"]
        return sum((not count) << number for number, count in enumerate(waiting))

    def full(self, channel: int) -> bool:
        return not has_space(self.state.channels[channel]["queued"], Q.candidates, D.candidates)

    def step(
        self, offered: Sequence[Mapping[str, Mapping[str, int]]], spaces: Sequence[bool]
    ) -> tuple[list[set[str]], list[list[int] | None]]:
        """Move on by one cycle with these events, and space in these banks. Return the inputs of
        each channel that move, and the event that each bank gets in the next cycle, or None."""
        channels, banks = self.state.channels, self.state.banks
        for channel, inputs in zip(channels, offered, strict=True):
            for name, queue in _SOURCES.items():
                channel["queued"] &= ~(15 * mark(queue))
                if name in inputs:
                    channel["queued"] += mark(queue)
                    put(channel[name][front(channel["heads"], queue)], inputs[name])
        banks["clearing"], banks["in_pipeline"] = [not space for space in spaces], 0
        step_front(self.state)
        taken = []
        for channel in channels:
            popped, pushed = begin_queues(channel)
            taken.append({name for name, queue in _SOURCES.items() if has(popped, queue)})
            end_queues(channel, popped, pushed)
        slot = self.state.gpu["cycle"] % EVENTS
        self.state.gpu["cycle"] += 1
        chosen = [words(bank["events"][slot]["tile"]) for bank in banks]
        return taken, [
            c if bank["in_pipeline"] else None for c, bank in zip(chosen, banks, strict=True)
        ]
