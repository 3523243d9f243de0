"""The golden model's register port behind the ports of the RTL's."""

from collections.abc import Mapping

import numpy as np

from rtl.interface.encodings import ConfigurationError
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.registers import follow_launch, step_bus
from sysmodel.engine.golden.state import F, R
from sysmodel.engine.golden.tables import write_register
from sysmodel.engine.ports import GPU_INPUTS, G
from tb.golden import golden_state, maps, words
from tb.payload import Fields

__all__ = ["Model"]

_STROBES = {"launch": "launch", "clear": "clear", "start": "measure"}
# What software reads of the hardware.
_STATUS = ("done", "idle", "tiles", "oldest", "credit_limit")


def _strobe(name: str) -> int:
    _, low, mask = getattr(F, f"CONTROL_{name}")
    return mask << low


class Model:
    """The registers, the tables and the copies, with nothing behind them."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self._inputs = np.zeros(GPU_INPUTS, np.int64)

    def _value(self, name: str) -> int:
        return int(self.state.gpu[name])

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
        self.state.gpu["errors"] = count

    @property
    def configuration_error(self) -> ConfigurationError:
        """Why the last commit, copy or launch was refused."""
        return ConfigurationError(self._value("configuration_error"))

    def maps(self) -> list[int]:
        """Fields of all tables, in order."""
        return maps(self.state)

    def configuration(self, fields: Fields) -> list[int]:
        """Fields of the arbiter's configuration or of the launch's, in order."""
        config = self.state.config
        return words(config["arbiter" if "policy" in fields.names else "launch"])

    def copy(self) -> list[int] | None:
        """The copy that is offered."""
        if not self._value("copies_level"):
            return None
        return words(self.state.gpu["copies"][self._value("copies_head")])

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
        for name in _STATUS:
            gpu[name] = status[name]
        state.registers[R.CORRECTED]["value"] = status["corrected"]
        self._inputs[:] = 0
        for name, value in bus.items():
            self._inputs[getattr(G, f"bus_{name}")] = value
        copies, strobes = self._value("copies_level"), self._value("strobes")
        clearing = bool(status["clearing"])
        acts = step_bus(state, self._inputs, 0, clearing)
        gpu["strobes"] = 0
        running = follow_launch(gpu, strobes)
        self._keep_error(failure, bool(strobes & _strobe("clear_error")))
        if take and copies:
            gpu["copies_head"] ^= 1
            gpu["copies_level"] -= 1
        if acts:
            write_register(state, copies, clearing, running)

    def _keep_error(self, failure: tuple[int, int, int] | None, clear: bool) -> None:
        gpu = self.state.gpu
        if clear:
            gpu["error"] = gpu["errors"] = gpu["report"] = 0
        if failure:
            code, wavefront, dispatch_index = failure
            if not gpu["error"]:
                gpu["report"] = code | wavefront << 8 | dispatch_index << 24
            gpu["error"] = 1
            gpu["errors"] = (gpu["errors"] + 1) & 0xFFFFFFFF
