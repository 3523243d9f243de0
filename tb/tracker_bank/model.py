"""The golden model's bank behind the ports of the RTL's."""

from collections.abc import Mapping

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.layouts import TILE
from sysmodel.engine.golden.patrol import begin_bank, end_bank
from sysmodel.engine.golden.state import COMPLETIONS
from sysmodel.engine.golden.tracker_bank import (
    accept,
    clear_bank,
    comes_now,
    count_entries,
    drop_aborted,
    has_events,
    has_room,
    offer_completion,
    read_row,
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
    def clearing(self) -> int:
        """A bit for each context."""
        if self._word("clearing"):
            return (1 << len(self.state.contexts)) - 1
        return self._word("pending") | self._word("forgetting")

    @property
    def empty(self) -> int:
        """A bit for each context."""
        names = ("entries", "entries_moved", "flying", "completions")
        busy = self.clearing
        for number, own in enumerate(self.state.contexts):
            busy |= any(own[name] for name in names) << number
        return ~busy & (1 << len(self.state.contexts)) - 1

    @property
    def counts(self) -> bool:
        """Whether an entry came or went in the last cycle."""
        return bool(self.state.contexts["entries_change"].any())

    @property
    def under_way(self) -> int:
        """Events that were chosen and have not changed the table yet."""
        return self._word("flying").bit_count()

    @property
    def armed(self) -> bool:
        """Whether the next entry gets wrong bits."""
        return bool(self.state.gpu["bank_waits"])

    @property
    def corrected(self) -> bool:
        """Whether a wrong bit was corrected in the last cycle that was stepped."""
        return bool(self.state.gpu["corrected"])

    @property
    def patrolled(self) -> bool:
        """Whether the patrol wrote an entry in the last cycle that was stepped."""
        return bool(self.state.gpu["patrolled"])

    @property
    def holds(self) -> bool:
        """Whether the patrol would write an entry in this cycle."""
        return bool(self._bank["held"])

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

    def step(
        self,
        chosen: Mapping[str, int] | None,
        *,
        taken: bool,
        clear: int = 0,
        aborting: int = 0,
        inject: int | None = None,
        patrol: bool = False,
    ) -> int:
        """One cycle, in which the front chose an event; gives the error report, or 0. Strobes and
        aborts have a bit for each context; ``inject`` is the number of wrong bits to come, None
        without the strobe; ``patrol`` is the strobe of the patrol."""
        gpu = self.state.gpu
        gpu["corrected"], gpu["corrected_next"] = gpu["corrected_next"], 0
        if inject is not None:
            gpu["bank_armed"] = inject
        gpu["bank_waits"] = gpu["bank_armed"] != 0
        gpu["patrols"], gpu["patrolled"] = patrol, 0
        begin_bank(self.state, 0)
        for number, own in enumerate(self.state.contexts):
            own["aborted"] = aborting >> number & 1
            own["entries_moved"] = 0
        if chosen:
            tile = np.zeros(1, TILE)[0]
            put(tile, chosen)
            accept(self.state, self._bank, tile)
        if taken and self._word("level"):
            offer_completion(self.state)
            take_completion(self.state, self._bank["completions"][self._word("head")]["owner"])
        for number in range(len(self.state.contexts)):
            count_entries(self.state, number, clear >> number & 1)
        comes, came = has_events(self.state, self._bank), comes_now(self.state, self._bank)
        drop_aborted(self.state, self._bank)
        error = step_bank(self.state, 0)
        read_row(self.state, 0, came)
        clear_bank(self.state, 0, clear, comes)
        end_bank(self.state, 0)
        self.state.gpu["cycle"] += 1
        return int(error)
