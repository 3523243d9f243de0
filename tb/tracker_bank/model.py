"""The golden model's bank behind the ports of the RTL's."""

from collections.abc import Mapping

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.layouts import TILE
from sysmodel.engine.golden.state import COMPLETIONS
from sysmodel.engine.golden.tracker_bank import (
    accept,
    clear_bank,
    count_entries,
    has_room,
    step_bank,
    take_completion,
)
from tb.golden import golden_state, put, words

__all__ = ["Model"]


class Model:
    """The first bank; the others stay empty."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self._bank = self.state.banks[0]

    def _word(self, name: str) -> int:
        return int(self._bank[name])

    @property
    def room(self) -> bool:
        return bool(has_room(self._bank))

    @property
    def clearing(self) -> bool:
        return bool(self._word("clearing"))

    @property
    def empty(self) -> bool:
        busy = self.counts or self.under_way or self.clearing or self._word("level")
        return not (self.state.gpu["entries"] or busy)

    @property
    def counts(self) -> bool:
        """Whether an entry came or went in the last cycle."""
        return bool(self.state.gpu["entries_change"])

    @property
    def under_way(self) -> int:
        """Events that were chosen and have not changed the table yet."""
        return self._word("flying").bit_count()

    @property
    def full(self) -> bool:
        """Whether the queue of completions is."""
        return self._word("level") == COMPLETIONS

    def completion(self) -> list[int] | None:
        """The completion that is offered."""
        if not self._word("level"):
            return None
        return words(self._bank["completions"][self._word("head")])

    def tiles(self) -> int:
        """Entries in use."""
        return int(self.state.entries["valid"].sum())

    def step(self, chosen: Mapping[str, int] | None, *, taken: bool, clear: bool) -> int:
        """One cycle, in which the front chose an event; gives the error report, or 0."""
        if chosen:
            tile = np.zeros(1, TILE)[0]
            put(tile, chosen)
            accept(self.state, self._bank, tile)
        if taken and self._word("level"):
            take_completion(self.state)
        count_entries(self.state, clear)
        error = step_bank(self.state, 0)
        clear_bank(self.state, 0, clear)
        self.state.gpu["cycle"] += 1
        return int(error)
