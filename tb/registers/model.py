"""The golden model's register port behind the ports of the RTL's."""

from collections.abc import Mapping, Sequence

import numpy as np

from rtl.interface.encodings import ConfigurationError
from rtl.parameters import T3Parameters
from rtl.registers.map import CONTEXT, GLOBAL, PAGE_BITS
from sysmodel.engine.golden.errors import error, interrupts, place_of, tell_of_context, tell_of_gpu
from sysmodel.engine.golden.patrol import follow_patrol
from sysmodel.engine.golden.registers import follow_launch, next_epoch, step_bus, take_launch
from sysmodel.engine.golden.state import F, R
from sysmodel.engine.golden.tables import launch_needs, write_register
from sysmodel.engine.golden.trigger import IDLE
from sysmodel.engine.ports import GPU_INPUTS, G
from tb.golden import golden_state, maps, words

__all__ = ["Model"]

_STROBES = {"abort": "abort", "start": "measure"}
# What software reads of the hardware.
_STATUS = ("done", "idle", "gone", "tiles", "oldest", "credit_limit")


def _strobe(name: str) -> int:
    _, low, mask = getattr(F, f"CONTROL_{name}")
    return mask << low


class Model:
    """The registers, the tables and the copies, with nothing behind them.

    Parameters
    ----------
    p : T3Parameters
    """

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        # What else could be left of a launch is so in none of the contexts.
        self.state.contexts["trigger"]["state"] = IDLE
        self._inputs = np.zeros(GPU_INPUTS, np.int64)

    def _value(self, context: int, name: str) -> int:
        return int(self.state.contexts[context][name])

    def _bus(self, name: str) -> int:
        return int(self.state.gpu["bus"][name])

    def bus(self) -> dict[str, int | None]:
        """Outputs of the bus; a response that is not offered is None."""
        b, r = self._bus("b_valid"), self._bus("r_valid")
        return {
            **{f"{name}ready": 1 - self._bus(f"{name}_full") for name in ("aw", "w", "ar")},
            "bvalid": b,
            "bresp": self._bus("b_resp") if b else None,
            "rvalid": r,
            "rdata": self._bus("r_data") if r else None,
            "rresp": self._bus("r_resp") if r else None,
        }

    def strobes(self, context: int) -> dict[str, bool]:
        """The strobes that are on, by port."""
        on = self._value(context, "strobes")
        named = {port: bool(on & _strobe(field)) for port, field in _STROBES.items()}
        return {"launch": bool(self._value(context, "launches"))} | named

    def flags(self, context: int) -> dict[str, bool]:
        """Something interrupts; an abort, or the reset, is not over; there was a launch."""
        own = self.state.contexts[context]
        names = {"aborting": "aborting", "launched": "open", "aborted": "given_up"}
        irq = {"irq": self._irq(context)}
        return irq | {port: bool(own[name]) for port, name in names.items()}

    @property
    def irqs(self) -> list[bool]:
        """Something interrupts, for each context."""
        return [self._irq(context) for context in range(len(self.state.contexts))]

    def _irq(self, context: int) -> bool:
        return bool(interrupts(self.state, CONTEXT + context))

    @property
    def irq(self) -> bool:
        """Something interrupts that is no context's."""
        return bool(interrupts(self.state, GLOBAL))

    def needs(self, context: int) -> tuple[int, int]:
        """What a launch needs room for, as the tables are: most commands of a workgroup, and most
        members of a group beside one."""
        commands, others = launch_needs(self.state, context)
        return int(commands), int(others)

    def pending(self, context: int) -> bool:
        """A launch waits."""
        return bool(self._value(context, "pending"))

    def former(self, context: int) -> list[int]:
        """Whether there was a launch before, and its generation."""
        return [self._value(context, f"former_{name}") for name in ("valid", "generation")]

    def ways(self, context: int) -> int:
        return self._value(context, "ways")

    def errors(self, page: int) -> int:
        """Cycles with an error since they were cleared."""
        return int(self.state.logs[page]["total"])

    def logged(self, context: int) -> int:
        """Errors in the log."""
        return int(self.state.logs[CONTEXT + context]["level"])

    @property
    def next_epoch(self) -> int:
        return int(next_epoch(self.state))

    def preset_epoch(self, epoch: int) -> None:
        """Go on as if so many launches had been accepted."""
        _, low, _ = F.EPOCHS_next
        self.state.registers[GLOBAL][R.EPOCHS]["value"] = epoch << low

    def preset_errors(self, page: int, count: int) -> None:
        """Go on as if there had been so many."""
        self.state.logs[page]["total"] = count

    def preset_count(self, page: int, register: str, count: int) -> None:
        """Go on as if there had been so many of the kind that the register counts."""
        self.state.registers[page][getattr(R, register)]["value"] = count

    def configuration_error(self, context: int) -> ConfigurationError:
        """Why the last commit, copy or launch was refused."""
        return ConfigurationError(self._value(context, "configuration_error"))

    def maps(self, context: int) -> list[int]:
        """Fields of all tables, in order."""
        return maps(self.state, context)

    def configuration(self, context: int, name: str) -> list[int]:
        """Fields of a context's launch, of its address space or of what it takes, in order."""
        own = self.state.contexts[context]
        return words(own["launch" if name == "launch_configuration" else name])

    def arbiter(self) -> list[int]:
        """Fields of its configuration, in order."""
        return words(self.state.config["arbiter"])

    @property
    def patrol(self) -> bool:
        """The strobe of the walk that corrects the memories."""
        return bool(self.state.gpu["patrols"])

    def injection(self) -> list[int]:
        """Fields of the port, in order."""
        word = int(self.state.registers[GLOBAL][R.INJECT]["value"])
        fields = (F.INJECT_target, F.INJECT_instance, F.INJECT_double)
        return [int(self.state.gpu["arms"]), *(word >> low & mask for _, low, mask in fields)]

    def copy(self, context: int) -> list[int] | None:
        """The copy that is offered."""
        own = self.state.contexts[context]
        return words(own["copies"][own["copies_head"]]) if own["copies_level"] else None

    def step(
        self,
        bus: Mapping[str, int],
        corrected: int,
        armed: bool,
        patrolled: int,
        statuses: Sequence[Mapping[str, int]],
        failures: Sequence[Mapping[str, int] | None],
        takes: Sequence[bool],
    ) -> None:
        """One cycle.

        Parameters
        ----------
        bus : mapping
            Inputs of the bus; those that are left out are 0.
        corrected : int
        armed : bool
        patrolled : int
        statuses : sequence of mapping
            What the hardware shows of each context, by port.
        failures : sequence of mapping
            The error report of each context, if there is one, and last that of none.
        takes : sequence of bool
            A copy that is offered is taken.
        """
        state, contexts = self.state, self.state.contexts
        for own, status in zip(contexts, statuses, strict=True):
            for name in _STATUS:
                own[name] = status[name]
        state.registers[GLOBAL][R.CORRECTED]["value"] = corrected
        state.registers[GLOBAL][R.PATROLLED]["value"] = patrolled
        state.gpu["arms"], state.gpu["armed_shown"] = 0, armed
        for log, failure in zip(state.logs, [failures[-1], *failures[:-1]], strict=True):
            log["failure"], log["failure_place"] = _words_of(failure) if failure else (0, 0)
        self._inputs[:] = 0
        for name, value in bus.items():
            self._inputs[getattr(G, f"bus_{name}")] = value
        acts = step_bus(state, self._inputs, 0)
        copies = contexts["copies_level"].tolist()
        used = pending = aborting = 0
        for number, own in enumerate(contexts):
            status = statuses[number]
            strobes, own["strobes"] = int(own["strobes"]), 0
            aborts = bool(strobes & _strobe("abort"))
            aborting |= bool(own["aborting"] or aborts) << number
            pending |= bool(own["pending"]) << number
            used |= bool(own["running"]) << number
            own["given"], own["copies_before"] = strobes, copies[number]
            own["has_sent"], done = status["sent"], int(own["launches_done"])
            # The model finds out by itself whether something is left.
            own["entries"], own["finished"] = not status["over"], 1 << 32
            begins = follow_launch(state, number, aborts, bool(status["clearing"]))
            own["launches"], own["ended"] = begins, own["launches_done"] != done
            if aborts:
                own["open"] = own["former_valid"] = 0
            if begins:
                take_launch(state, number)
            tell_of_context(state, number)
            if takes[number] and copies[number]:
                own["copies_head"] ^= 1
                own["copies_level"] -= 1
        tell_of_gpu(state)
        follow_patrol(state)
        if acts:
            written = (int(state.gpu["bus"]["awaddr"]) >> PAGE_BITS) - CONTEXT
            waiting = copies[written] if 0 <= written < len(copies) else 0
            write_register(state, waiting, used | pending | aborting, pending, aborting)


def _words_of(failure: Mapping[str, int]) -> tuple[int, int]:
    """A report as the model has it: what, and where."""
    what = error(failure["code"], failure["owner"], failure["dispatch_index"], failure["wavefront"])
    names = ("atom", "source", "channel", "stray")
    return what, place_of(*(failure[name] for name in names))
