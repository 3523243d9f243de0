"""The golden model's bank behind the ports of the RTL's."""

from collections.abc import Mapping

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.queues import RECORD_WORDS
from sysmodel.engine.golden.state import COMPLETION, COMPLETIONS, ENTRY, TILE, B, C, U
from sysmodel.engine.golden.tracker_bank import (
    accept,
    clear_bank,
    count_entries,
    has_room,
    step_bank,
    take_completion,
)
from tb.golden import golden_state

__all__ = ["Model"]


class Model:
    """One bank, the only one."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self._at = int(self.state.config[C.at_banks])

    def _word(self, column: int) -> int:
        return int(self.state.memory[self._at + column])

    @property
    def room(self) -> bool:
        return bool(has_room(self.state.memory, self._at))

    @property
    def clearing(self) -> bool:
        return bool(self._word(B.clearing))

    @property
    def empty(self) -> bool:
        return not self.state.gpu[U.entries]

    @property
    def counts(self) -> bool:
        """Whether an entry came or went in the last cycle."""
        return bool(self.state.gpu[U.entries_change])

    @property
    def under_way(self) -> int:
        """Events that were chosen and have not changed the table yet."""
        return self._word(B.flying).bit_count()

    @property
    def full(self) -> bool:
        """Whether the queue of completions is."""
        return self._word(B.level) == COMPLETIONS

    def completion(self) -> list[int] | None:
        """The completion that is offered."""
        if not self._word(B.level):
            return None
        at = self._at + B.body + self._word(B.head) * RECORD_WORDS
        return self.state.memory[at : at + len(COMPLETION)].tolist()

    def tiles(self) -> int:
        """Entries in use."""
        config, memory = self.state.config, self.state.memory
        words = config[C.rows] * config[C.ways] * len(ENTRY)
        first = config[C.at_rows]
        return int(memory[first : first + words].reshape(-1, len(ENTRY))[:, ENTRY.valid].sum())

    def step(self, chosen: Mapping[str, int] | None, *, taken: bool, clear: bool) -> int:
        """One cycle, in which the front chose an event; gives the error report, or 0."""
        if chosen:
            words = np.array([chosen[name] for name in TILE._fields])
            accept(self.state, self._at, words, 0)
        if taken and self._word(B.level):
            take_completion(self.state)
        count_entries(self.state, clear)
        error = step_bank(self.state, self._at)
        clear_bank(self.state, self._at, clear)
        self.state.gpu[U.cycle] += 1
        return int(error)
