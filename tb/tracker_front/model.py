"""The golden model's front behind the ports of the RTL's."""

from collections.abc import Mapping, Sequence

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.queues import D, Q, commit, front, has, mark, room
from sysmodel.engine.golden.tracker_front import step_front
from tb.golden import golden_state, put, words

__all__ = ["Model"]

_SOURCES = ("issue_acks", "ends")


class Model:
    """Front of all channels and banks; what a bank does with its events is not modelled."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)

    def candidate(self, channel: int) -> int | None:
        """Bank of the channel's next event."""
        record = self.state.channels[channel]
        if not has(record["levels"], Q.candidates):
            return None
        return int(record["candidates"][front(record["heads"], Q.candidates)]["bank"])

    @property
    def empty(self) -> int:
        """A bit for each context: it has no candidate."""
        waits = self.state.contexts["candidates"] > 0
        return sum((not waiting) << number for number, waiting in enumerate(waits))

    def full(self, channel: int) -> bool:
        """Whether the channel has as many candidates as fit."""
        return not room(self.state.channels[channel]["levels"], Q.candidates, D.candidates)

    def step(
        self,
        offered: Sequence[Mapping[str, Mapping[str, int]]],
        rooms: Sequence[bool],
    ) -> tuple[list[set[str]], list[list[int] | None]]:
        """One cycle.

        Returns
        -------
        taken : list of set of str
            Inputs of each channel that move.
        chosen : list
            The event that each bank gets in the next cycle, or None.
        """
        state = self.state
        for channel, inputs in zip(state.channels, offered, strict=True):
            for name in _SOURCES:
                queue = getattr(Q, name)
                levels = channel["levels"] & ~(15 * mark(queue))
                channel["levels"] = levels + mark(queue) * (name in inputs)
                if name in inputs:
                    put(channel[name][front(channel["heads"], queue)], inputs[name])
            channel["popped"] = channel["pushed"] = 0
        for bank, has_room in zip(state.banks, rooms, strict=True):
            bank["clearing"] = not has_room
            bank["flying"] = bank["level"] = 0
        step_front(state)
        taken = []
        for channel in state.channels:
            popped, pushed = channel["popped"], channel["pushed"]
            taken.append({name for name in _SOURCES if has(popped, getattr(Q, name))})
            channel["levels"], channel["heads"] = commit(
                channel["levels"], channel["heads"], popped, pushed
            )
        state.gpu["cycle"] += 1
        return taken, [_chosen(bank) for bank in state.banks]


def _chosen(bank: np.void) -> list[int] | None:
    flying = int(bank["flying"])
    return words(bank["events"][flying.bit_length() - 1]["tile"]) if flying else None
