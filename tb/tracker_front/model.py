"""The golden model's front behind the ports of the RTL's."""

from collections.abc import Mapping, Sequence

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.queues import RECORD_WORDS, D, Q, commit, front, has, mark, room
from sysmodel.engine.golden.state import (
    BANK_WORDS,
    CANDIDATE,
    CHANNEL_WORDS,
    COMPLETIONS,
    TILE,
    UPDATES,
    B,
    C,
    K,
    U,
)
from sysmodel.engine.golden.tracker_front import step_front
from tb.golden import golden_state

__all__ = ["Model"]

_SOURCES = {"issue_acks": (Q.issue_acks, UPDATES), "ends": (Q.ends, TILE)}


class Model:
    """Front of all channels and banks; what a bank does with its events is not modelled."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self._p = p

    def _bank(self, bank: int) -> int:
        return int(self.state.config[C.at_banks]) + bank * BANK_WORDS

    def candidate(self, channel: int) -> int | None:
        """Bank of the channel's next event."""
        k, channels = channel * CHANNEL_WORDS, self.state.channels
        if not has(channels[k + K.levels], Q.candidates):
            return None
        at = front(k + K.body, channels[k + K.heads], Q.candidates) + CANDIDATE.bank
        return int(channels[at] - self.state.config[C.at_banks]) // BANK_WORDS

    def full(self, channel: int) -> bool:
        """Whether the channel has as many candidates as fit."""
        levels = self.state.channels[channel * CHANNEL_WORDS + K.levels]
        return not room(levels, Q.candidates, D.candidates)

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
        channels, memory, gpu = self.state.channels, self.state.memory, self.state.gpu
        for index, inputs in enumerate(offered):
            k = index * CHANNEL_WORDS
            for name, (queue, record) in _SOURCES.items():
                levels = channels[k + K.levels] & ~(15 * mark(queue))
                channels[k + K.levels] = levels + mark(queue) * (name in inputs)
                if name in inputs:
                    at = front(k + K.body, channels[k + K.heads], queue)
                    words = [inputs[name][field] for field in record._fields]
                    channels[at : at + len(record)] = words
            channels[k + K.popped] = channels[k + K.pushed] = 0
        for bank, has_room in enumerate(rooms):
            at = self._bank(bank)
            memory[at + B.clearing] = not has_room
            memory[at + B.flying] = memory[at + B.level] = 0
        step_front(self.state)
        taken = []
        for index in range(self._p.channels):
            k = index * CHANNEL_WORDS
            popped, pushed = channels[k + K.popped], channels[k + K.pushed]
            taken.append({name for name, (queue, _) in _SOURCES.items() if has(popped, queue)})
            channels[k + K.levels], channels[k + K.heads] = commit(
                channels[k + K.levels], channels[k + K.heads], popped, pushed
            )
        gpu[U.cycle] += 1
        return taken, [self._chosen(self._bank(bank)) for bank in range(self._p.banks)]

    def _chosen(self, bank: int) -> list[int] | None:
        memory = self.state.memory
        flying = int(memory[bank + B.flying])
        if not flying:
            return None
        slot = flying.bit_length() - 1
        at = bank + B.body + (COMPLETIONS + slot) * RECORD_WORDS
        return memory[at : at + len(TILE)].tolist()
