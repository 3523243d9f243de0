"""The golden model's trigger unit behind the ports of the RTL's."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rtl.interface.encodings import Action, Granularity
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.injection import COMMANDS, GROUPS, TILES
from sysmodel.engine.golden.protected_queue import can_push, is_empty
from sysmodel.engine.golden.tracker_bank import offer_completion
from sysmodel.engine.golden.trigger import (
    CLEARING,
    GROUP,
    IDLE,
    begin_clearing,
    patrol_rows,
    step_ready,
    step_trigger,
)
from tb.golden import golden_state, put, words

__all__ = ["INJECTED", "Model", "Outcome"]

INJECTED = (TILES, GROUPS, COMMANDS)
"""What the block's ports make wrong bits in, in their order."""


@dataclass(frozen=True)
class Outcome:
    """What a cycle did: dispatch index of the workgroup that is complete, or -1; the error that
    was reported, or 0."""

    taken: bool
    complete: int
    own: bool
    pushed: bool
    corrected: bool
    error: int
    patrolled: bool


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

    @property
    def in_group(self) -> bool:
        """Whether a workgroup counts for its group in this cycle."""
        return bool(self.own["trigger"]["state"] == GROUP)

    @property
    def waits(self) -> bool:
        """Whether a completion was taken that is not looked up yet."""
        return bool(self.own["trigger"]["taken"])

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

    @property
    def armed(self) -> list[bool]:
        """For each port: whether the next word gets wrong bits."""
        gpu = self.state.gpu
        return [bool(gpu["armed"] and gpu["armed_target"] == target) for target in INJECTED]

    def step(
        self,
        completion: Mapping[str, int] | None,
        *,
        popped: bool,
        clear: bool,
        inject: tuple[int, int] | None = None,
        patrol: bool = False,
    ) -> Outcome:
        """One cycle; ``inject`` is the port's number and that of the wrong bits to come, None
        without the strobe; ``patrol`` is the strobe of the patrol."""
        state, bank, gpu = self.state, self.state.banks[0], self.state.gpu
        gpu["corrected"], gpu["corrected_next"] = gpu["corrected_next"], 0
        self.own["corrupt"] = 0
        if completion:
            # The unit is of one context, whoever the completion names.
            put(bank["completions"][bank["head"]], completion | {"owner": 0})
        bank["level"] = state.gpu["completions"] = completion is not None
        self.own["completions"] = completion is not None
        state.gpu["offered"] = -1
        offer_completion(state)
        gpu["patrols"], gpu["patrolled"] = patrol, 0
        before, tiles = self.own["trigger"]["state"], self.tiles
        pushed, complete, own = step_trigger(state, 0)
        patrol_rows(state, 0, before, self.tiles != tiles)
        step_ready(state, 0, pushed, popped)
        if clear:
            begin_clearing(state, 0)
        if inject is not None:
            port, gpu["armed"] = inject
            gpu["armed_target"] = INJECTED[port]
        taken = completion is not None and not bank["level"]
        happened = bool(gpu["corrected"]), int(self.own["corrupt"]), bool(gpu["patrolled"])
        return Outcome(taken, int(complete), bool(own), bool(pushed), *happened)
