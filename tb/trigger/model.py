"""Golden trigger unit and its queue of ready commands behind the ports of the RTL's."""

from collections.abc import Mapping

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.payloads import COMPLETION
from sysmodel.engine.golden.protected_queue import can_push, is_empty
from sysmodel.engine.golden.registers.corrections import (
    note_corrected,
    note_corrected_next,
    step_corrections,
)
from sysmodel.engine.golden.registers.injection import COMMANDS, GROUPS, TILES
from sysmodel.engine.golden.trigger.ready import step_ready
from sysmodel.engine.golden.trigger.trigger import (
    CLEARING,
    IDLE,
    TriggerOutputs,
    begin_clearing,
    scrub_rows,
    step_trigger,
)
from tb.golden import golden_state, put, words

__all__ = ["INJECTED", "Model"]

INJECTED = (TILES, GROUPS, COMMANDS)
"""Memories of the block's injection ports, in their order."""


class Model:
    """The unit with its memories and its queue of ready commands.

    Attributes
    ----------
    error : int
        Error report of the last cycle, or 0.
    """

    def __init__(self, p: T3Parameters):
        self.state, self._depth = golden_state(p), p.command_depth
        self.own = self.state.contexts[0]["trigger"]
        self._ready, self.error = self.state.contexts[0]["ready"], 0

    clearing = property(lambda self: bool(self.own["state"] == CLEARING))
    at_rest = property(lambda self: bool(self.own["state"] == IDLE))
    empty = property(lambda self: bool(is_empty(self._ready)))
    full = property(lambda self: not can_push(self._ready, self._depth))

    def has_space(self, commands: int) -> bool:
        """Return whether so many more commands fit, whatever leaves."""
        return bool(self._ready["inner"] + commands < self._depth)

    def ready(self) -> list[int] | None:
        """Return the command that is offered."""
        queue = self._ready
        return words(self.state.ready[0, queue["head"]]) if queue["checked"] else None

    @property
    def armed(self) -> list[bool]:
        """For each port: the next word gets bit errors."""
        own = self.state.gpu["injection"]
        return [bool(own["armed"] and own["armed_target"] == target) for target in INJECTED]

    def step(
        self,
        completion: Mapping[str, int] | None,
        *,
        popped: bool,
        clear: bool,
        inject: tuple[int, int] | None = None,
        scrub: bool = False,
    ) -> TriggerOutputs:
        """Move on by one cycle; ``inject`` is the port's number and that of the bit errors to come,
        None without the strobe; ``scrub`` is the strobe of the scrubber."""
        state, gpu, offered = self.state, self.state.gpu, np.zeros(1, COMPLETION)[0]
        corrections, scrubber, before = gpu["corrections"], gpu["scrubber"], int(self.own["state"])
        step_corrections(corrections, state.registers)
        scrubber["scrub_strobe"], scrubber["scrubbed"] = scrub, 0
        put(offered, completion or {})
        unit = step_trigger(state, 0, completion is not None, offered)
        scrub_rows(state, 0, before, unit.taken)
        queue = step_ready(state, 0, unit.pushed, popped)
        note_corrected(corrections, unit.corrected | queue.corrected)
        note_corrected_next(corrections, unit.corrected_next)
        if clear:
            begin_clearing(self.own)
        if inject is not None:
            port, gpu["injection"]["armed"] = inject
            gpu["injection"]["armed_target"] = INJECTED[port]
        self.error = unit.failure or queue.failure
        return unit
