"""Random accesses of the bus in front of the registers."""

import random

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.registers.launch_check import held_workgroups, launch_needs
from tb.registers.model import Model
from tb.registers.traffic import BusTraffic, Needs

__all__ = ["CHANNELS", "Bus"]

CHANNELS = {
    "aw": ("awaddr", "awprot"),
    "w": ("wdata", "wstrb"),
    "b": ("bresp",),
    "ar": ("araddr", "arprot"),
    "r": ("rdata", "rresp"),
}
"""Channels of the bus, with their payload."""


class Bus:
    """Offers on the bus channels, each held until it is accepted."""

    def __init__(self, rng: random.Random, p: T3Parameters, model: Model):
        state = model.state

        def needs(context: int) -> Needs:
            before = int(state.contexts[context]["launch"]["generation"])
            needed = map(int, launch_needs(state, context))
            return Needs(*needed, int(held_workgroups(state, context)), before)

        self.traffic = BusTraffic(rng, p, needs)
        self._offered: dict[str, dict[str, int]] = {}

    def inputs(self, acts: dict[str, bool]) -> dict[str, int]:
        """Return the inputs of the bus in a cycle in which these channels act."""
        offered, traffic = self._offered, self.traffic
        if "aw" not in offered and acts["aw"]:
            address, prot = traffic.write_address()
            offered["aw"] = {"awaddr": address, "awprot": prot}
        if "w" not in offered and acts["w"] and (data := traffic.write_data()):
            offered["w"] = dict(zip(("wdata", "wstrb"), data, strict=True))
        if "ar" not in offered and acts["ar"]:
            offered["ar"] = dict(zip(CHANNELS["ar"], traffic.read(), strict=True))
        inputs = {f"{name}ready": int(acts[name]) for name in ("b", "r")}
        for name in ("aw", "w", "ar"):
            inputs |= {f"{name}valid": int(name in offered), **offered.get(name, {})}
        return inputs

    def taken(self, outputs: dict[str, int]) -> None:
        """Remove the offers that were taken in the cycle with these outputs."""
        for name in ("aw", "w", "ar"):
            if outputs[f"{name}ready"]:
                self._offered.pop(name, None)
