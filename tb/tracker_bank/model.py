"""Golden tracker bank behind the ports of the RTL bank."""

from collections.abc import Mapping

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.payloads.layouts import TILE
from sysmodel.engine.golden.registers.injection import arm_banks
from sysmodel.engine.golden.tracker.bank import accept, has_bank_space, step_bank
from sysmodel.engine.golden.tracker.clearing import clearing_contexts
from sysmodel.engine.golden.tracker.completions import offer_completion, take_completion
from sysmodel.engine.golden.tracker.counts import has_tiles
from sysmodel.engine.golden.tracker.tracker import begin_entries, begin_tracker, end_tracker
from tb.golden import bits, complement, end_cycle, golden_state, offered, payload

__all__ = ["Model"]


class Model:
    """First bank of a golden tracker, and the counts of the contexts; the other banks stay
    empty.
    """

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self.bank, self.gpu = self.state.banks[0], self.state.gpu
        self.state.banks["clearing"][1:] = 0

    space = property(lambda self: has_bank_space(self.bank))
    clearing = property(lambda self: clearing_contexts(self.state))
    completion = property(lambda self: offered(self.bank, "completions"))

    @property
    def empty(self) -> int:
        """Return a bit for each context without a tile in the bank and without a clear."""
        tiles = bits(map(has_tiles, self.state.contexts["tracker"]))
        return complement(self.state, tiles | self.clearing)

    def entry_of(self, event: Mapping[str, int]) -> np.void | None:
        """Return the entry of an event's tile, or None."""
        config = self.state.config
        upper = event["dispatch_index"] >> config["bank_bits"]
        key = (upper >> config["row_bits"]) * (config["wavefront_mask"] + 1) + event["wavefront"]
        tile = 1, event["owner"], key
        for entry in self.state.entries[0, upper & config["rows"] - 1]:
            if (entry["valid_entry"], entry["context_number"], entry["key"]) == tile:
                return entry
        return None

    def step(self, chosen: Mapping[str, int] | None, taken: bool, clear: int = 0) -> int:
        """Advance by one cycle, in which the front chose an event; return the error report, or 0.
        ``clear`` has a bit for each context."""
        state = self.state
        arm_banks(self.gpu["injection"], state.registers)
        begin_tracker(state, clear)
        if chosen:
            accept(state, self.bank, payload(TILE, chosen))
        offer_completion(state)
        if taken and self.completion:
            take_completion(state)
        begin_entries(state)
        failure = step_bank(state, 0, clear).failure
        end_tracker(state)
        end_cycle(state)
        return failure
