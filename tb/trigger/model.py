"""The golden model's trigger unit behind the ports of the RTL's."""

from collections.abc import Mapping
from dataclasses import dataclass

from rtl.interface.encodings import Action, Granularity
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.protected_queue import can_push, is_empty, oldest
from sysmodel.engine.golden.queues import RECORD_WORDS
from sysmodel.engine.golden.state import COMPLETION, READY, B, C, U
from sysmodel.engine.golden.trigger import CLEARING, IDLE, begin_clearing, step_ready, step_trigger
from tb.golden import golden_state

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
    def clearing(self) -> bool:
        return bool(self.state.gpu[U.trigger_state] == CLEARING)

    @property
    def tiles(self) -> int:
        return int(self.state.gpu[U.tiles])

    @property
    def empty(self) -> bool:
        return bool(is_empty(self.state.gpu, U.ready_head))

    @property
    def full(self) -> bool:
        return not can_push(self.state.gpu, U.ready_head, self._depth)

    @property
    def at_rest(self) -> bool:
        """Whether nothing that was taken is on its way to the queue."""
        return bool(self.state.gpu[U.trigger_state] == IDLE)

    def room(self, commands: int) -> bool:
        """Whether so many commands more fit, whatever leaves."""
        return bool(self.state.gpu[U.ready_inner] + commands < self._depth)

    def ready(self) -> list[int] | None:
        """The command that is offered."""
        state = self.state
        if not state.gpu[U.ready_checked]:
            return None
        at = state.config[C.at_ready] + oldest(state.gpu, U.ready_head) * len(READY)
        return state.memory[at : at + len(READY)].tolist()

    def looked_up(self) -> tuple[Action, Granularity, int, int]:
        """Action, granularity, tiles of the workgroup and size of its group, of the last tile."""
        gpu = self.state.gpu
        sizes = int(gpu[U.waves]), int(gpu[U.group_size])
        return Action(gpu[U.action]), Granularity(gpu[U.granularity]), *sizes

    def step(self, completion: Mapping[str, int] | None, *, popped: bool, clear: bool) -> Outcome:
        """One cycle."""
        state, bank = self.state, int(self.state.config[C.at_banks])
        gpu, memory = state.gpu, state.memory
        if completion:
            at = bank + B.body + memory[bank + B.head] * RECORD_WORDS
            words = [completion[name] for name in COMPLETION._fields]
            memory[at : at + len(COMPLETION)] = words
        memory[bank + B.level] = gpu[U.completions] = completion is not None
        pushed, complete, own = step_trigger(state)
        step_ready(state, pushed, popped)
        if clear:
            begin_clearing(state)
        taken = completion is not None and not memory[bank + B.level]
        return Outcome(taken, int(complete), bool(own), bool(pushed))
