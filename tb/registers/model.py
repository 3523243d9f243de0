"""The golden model's register port behind the ports of the RTL's."""

from collections.abc import Mapping

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.registers import step_bus
from sysmodel.engine.golden.state import COPY, VALUE, C, F, R, U
from sysmodel.engine.golden.tables import write_register
from sysmodel.engine.ports import GPU_INPUTS, G
from tb.golden import golden_state
from tb.payload import Fields

__all__ = ["Model"]

_STROBES = {"launch": "launch", "clear": "clear", "start": "measure"}
# What software reads of the hardware, by the port that shows it.
_STATUS = {name: getattr(U, name) for name in ("done", "idle", "tiles", "oldest", "credit_limit")}


def _strobe(name: str) -> int:
    _, low, mask = getattr(F, f"CONTROL_{name}")
    return mask << low


class Model:
    """The registers, the tables and the copies, with nothing behind them."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self._inputs = np.zeros(GPU_INPUTS, np.int64)

    def _value(self, name: str) -> int:
        return int(self.state.gpu[getattr(U, name)])

    def bus(self) -> dict[str, int | None]:
        """Outputs of the bus; a response that is not offered is None."""
        b, r = self._value("b_valid"), self._value("r_valid")
        return {
            **{f"{name}ready": 1 - self._value(f"{name}_full") for name in ("aw", "w", "ar")},
            "bvalid": b,
            "bresp": self._value("b_resp") if b else None,
            "rvalid": r,
            "rdata": self._value("r_data") if r else None,
            "rresp": self._value("r_resp") if r else None,
        }

    def strobes(self) -> dict[str, bool]:
        """The strobes that are on, by port."""
        on = self._value("strobes")
        return {port: bool(on & _strobe(field)) for port, field in _STROBES.items()}

    @property
    def irq(self) -> bool:
        return bool(self._value("error"))

    @property
    def errors(self) -> int:
        """Cycles with an error since they were cleared."""
        return self._value("errors")

    def preset_errors(self, count: int) -> None:
        """Go on as if there had been so many."""
        self.state.gpu[U.errors] = count

    def maps(self) -> list[int]:
        """Fields of all tables, in order."""
        return self.state.config[self.state.config[C.at_regions] :].tolist()

    def configuration(self, fields: Fields) -> list[int]:
        """Fields of the arbiter's configuration or of the launch's, in order."""
        # `cuts_0` of the layout is `cut0` of the model.
        names = [name.replace("s_", "") if name[-1].isdigit() else name for name in fields.names]
        return [int(self.state.config[getattr(C, name)]) for name in names]

    def copy(self) -> list[int] | None:
        """The copy that is offered."""
        if not self._value("copies_level"):
            return None
        at = self.state.config[C.at_copies] + self._value("copies_head") * len(COPY)
        return self.state.memory[at : at + len(COPY)].tolist()

    def step(
        self,
        bus: Mapping[str, int],
        status: Mapping[str, int],
        *,
        failure: tuple[int, int, int] | None,
        take: bool,
    ) -> None:
        """One cycle.

        Parameters
        ----------
        bus : mapping
            Inputs of the bus; those that are left out are 0.
        status : mapping
            What the hardware shows, by port.
        failure : tuple of int, optional
            Code, wavefront and dispatch index of the error that is reported.
        take : bool
            A copy that is offered is taken.
        """
        state, gpu = self.state, self.state.gpu
        for port, column in _STATUS.items():
            gpu[column] = status[port]
        state.registers[R.CORRECTED, VALUE] = status["corrected"]
        self._inputs[:] = 0
        for name, value in bus.items():
            self._inputs[getattr(G, f"bus_{name}")] = value
        copies, strobes = self._value("copies_level"), self._value("strobes")
        acts = step_bus(state, self._inputs, 0, bool(status["clearing"]))
        gpu[U.strobes] = 0
        self._keep_error(failure, bool(strobes & _strobe("clear_error")))
        if take and copies:
            gpu[U.copies_head] ^= 1
            gpu[U.copies_level] -= 1
        if acts:
            write_register(state, copies)

    def _keep_error(self, failure: tuple[int, int, int] | None, clear: bool) -> None:
        gpu = self.state.gpu
        if clear:
            gpu[U.error] = gpu[U.errors] = gpu[U.report] = 0
        if failure:
            code, wavefront, dispatch_index = failure
            if not gpu[U.error]:
                gpu[U.report] = code | wavefront << 8 | dispatch_index << 24
            gpu[U.error] = 1
            gpu[U.errors] = (gpu[U.errors] + 1) & 0xFFFFFFFF
