"""Golden tracker bank behind the ports of the RTL's."""

from collections.abc import Mapping

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.payloads import TILE
from sysmodel.engine.golden.registers.corrections import note_corrected_next, step_corrections
from sysmodel.engine.golden.tracker.bank import (
    accept,
    event_comes,
    has_bank_space,
    step_bank,
)
from sysmodel.engine.golden.tracker.clearing import clearing_contexts
from sysmodel.engine.golden.tracker.completions import (
    offer_completion,
    take_completion,
)
from sysmodel.engine.golden.tracker.counts import has_tiles
from sysmodel.engine.golden.tracker.scrub import begin_bank_scrub, end_bank_scrub
from sysmodel.engine.golden.tracker.tracker import begin_contexts, count_contexts
from tb.golden import golden_state, put, words

__all__ = ["Model"]


class Model:
    """The first bank, and the counts of the contexts; the other banks stay empty."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self.bank, self.gpu = self.state.banks[0], self.state.gpu
        self.state.banks["clearing"][1:] = 0

    space = property(lambda self: bool(has_bank_space(self.bank)))
    clearing = property(lambda self: int(clearing_contexts(self.state)))

    @property
    def empty(self) -> int:
        """A bit for each context: the bank has nothing of it."""
        counts = self.state.contexts["tracker"]
        busy = sum(bool(has_tiles(own)) << number for number, own in enumerate(counts))
        return ~(busy | self.clearing) & (1 << len(counts)) - 1

    def completion(self) -> list[int] | None:
        """Return the completion that is offered."""
        if not self.bank["completions_level"]:
            return None
        return words(self.bank["completions"][self.bank["completions_head"]])

    def step(
        self,
        chosen: Mapping[str, int] | None,
        *,
        taken: bool,
        clear: int = 0,
        aborting: int = 0,
        inject: int | None = None,
        scrub: bool = False,
    ) -> int:
        """Move on by one cycle, in which the front chose an event; return the error report, or 0.
        ``clear`` and ``aborting`` have a bit for each context; ``inject`` is the number of bit
        errors to come, None without the strobe; ``scrub`` is the strobe of the scrubber."""
        state, injection, scrubber = self.state, self.gpu["injection"], self.gpu["scrubber"]
        step_corrections(self.gpu["corrections"], state.registers)
        if inject is not None:
            injection["bank_armed"] = inject
        injection["bank_waits"] = injection["bank_armed"] != 0
        scrubber["scrub_strobe"], scrubber["scrubbed"] = scrub, 0
        begin_bank_scrub(state, 0, event_comes(self.bank, self.gpu["cycle"]))
        state.contexts["aborted"] = aborting >> np.arange(len(state.contexts)) & 1
        count_contexts(state, clear)
        begin_contexts(state)
        if chosen:
            tile = np.zeros(1, TILE)[0]
            put(tile, chosen)
            accept(state, self.bank, tile)
        offer_completion(state)
        if taken and self.bank["completions_level"]:
            take_completion(state)
        bank = step_bank(state, 0, clear)
        note_corrected_next(self.gpu["corrections"], bank.corrected_next)
        end_bank_scrub(state, 0)
        self.gpu["cycle"] += 1
        return int(bank.failure)
