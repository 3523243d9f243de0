"""Golden trigger unit and its queue of ready commands, behind the ports of the RTL unit."""

from collections.abc import Mapping

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.context.unit import begin_cycle, step_ready_queue, step_trigger_block
from sysmodel.engine.golden.payloads.layouts import COMPLETION
from sysmodel.engine.golden.protected_queue import is_empty
from sysmodel.engine.golden.trigger.ready import first_ready, ready_valid
from sysmodel.engine.golden.trigger.trigger import CLEARING, IDLE, begin_clearing
from tb.golden import end_cycle, golden_state, payload, words

__all__ = ["Model"]


class Model:
    """The unit with its memories, its outputs, and its queue of ready commands."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        context = self.state.contexts[0]
        self.own, self.queue, self.outputs = context["trigger"], context["ready"], context["cycle"]

    clearing = property(lambda self: self.own["state"] == CLEARING)
    at_rest = property(lambda self: self.own["state"] == IDLE)
    empty = property(lambda self: is_empty(self.queue))

    def ready(self) -> list[int] | None:
        """Return the command that is offered."""
        return words(first_ready(self.state, 0)) if ready_valid(self.queue) else None

    def step(self, completion: Mapping[str, int] | None, popped: bool, clear: bool) -> bool:
        """Advance by one cycle; return whether the completion is taken."""
        begin_cycle(self.state.contexts[0])
        offered = payload(COMPLETION, completion)
        _, taken = step_trigger_block(self.state, 0, completion is not None, offered)
        step_ready_queue(self.state, 0, popped)
        if clear:
            begin_clearing(self.own)
        end_cycle(self.state)
        return taken
