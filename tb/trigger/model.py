"""The golden model's trigger unit behind the ports of the RTL's."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rtl.interface.encodings import Action, Granularity
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.protected_queue import can_push, is_empty
from sysmodel.engine.golden.tracker_bank import offer_completion
from sysmodel.engine.golden.trigger import CLEARING, IDLE, begin_clearing, step_ready, step_trigger
from tb.golden import golden_state, put, words

__all__ = ["Model", "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """What a cycle did: dispatch index of the workgroup that is complete, or -1."""

    taken: bool
    complete: int
    own: bool
    pushed: bool


class Model:
    """The unit with its memories and its queue of ready commands."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self._depth = p.command_depth

    @property
    def own(self) -> np.void:
        """The record of the context."""
        return self.state.contexts[0]

    @property
    def clearing(self) -> bool:
        return bool(self.own["trigger"]["state"] == CLEARING)

    @property
    def tiles(self) -> int:
        return int(self.own["tiles"])

    @property
    def empty(self) -> bool:
        return bool(is_empty(self.own["ready"]))

    @property
    def full(self) -> bool:
        return not can_push(self.own["ready"], self._depth)

    @property
    def at_rest(self) -> bool:
        """Whether nothing that was taken is on its way to the queue."""
        return bool(self.own["trigger"]["state"] == IDLE)

    def room(self, commands: int) -> bool:
        """Whether so many commands more fit, whatever leaves."""
        return bool(self.own["ready"]["inner"] + commands < self._depth)

    def ready(self) -> list[int] | None:
        """The command that is offered."""
        queue = self.own["ready"]
        return words(self.state.ready[0, queue["head"]]) if queue["checked"] else None

    def looked_up(self) -> tuple[Action, Granularity, int, int]:
        """Action, granularity, tiles of the workgroup and size of its group, of the last tile."""
        trigger = self.own["trigger"]
        sizes = int(trigger["waves"]), int(trigger["group_size"])
        return Action(trigger["action"]), Granularity(trigger["granularity"]), *sizes

    def step(self, completion: Mapping[str, int] | None, *, popped: bool, clear: bool) -> Outcome:
        """One cycle."""
        state, bank = self.state, self.state.banks[0]
        if completion:
            put(bank["completions"][bank["head"]], completion)
        bank["level"] = state.gpu["completions"] = completion is not None
        self.own["completions"] = completion is not None
        state.gpu["offered"] = -1
        offer_completion(state)
        pushed, complete, own = step_trigger(state, 0)
        step_ready(state, 0, pushed, popped)
        if clear:
            begin_clearing(state, 0)
        taken = completion is not None and not bank["level"]
        return Outcome(taken, int(complete), bool(own), bool(pushed))
