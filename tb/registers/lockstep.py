"""The register port in every cycle against the golden model, with everything at its ports."""

import random

import cocotb

from rtl.interface.configuration import (
    ArbiterConfiguration,
    LaunchConfiguration,
    MapConfiguration,
)
from rtl.interface.encodings import ConfigurationError, ErrorCode
from rtl.interface.layouts import Copy, ErrorReport
from rtl.parameters import T3Parameters
from tb.cover import cover, expect
from tb.cycle import next_cycle, reset, scaled, settled
from tb.inside import inside
from tb.payload import Fields
from tb.registers.model import Model
from tb.registers.traffic import BusTraffic
from tb.stream import Pace, StreamChecker

__all__ = ["CHANNELS", "PARAMETERS", "every_cycle"]

PARAMETERS = T3Parameters()
CHANNELS = {
    "aw": ("awaddr",),
    "w": ("wdata", "wstrb"),
    "b": ("bresp",),
    "ar": ("araddr",),
    "r": ("rdata", "rresp"),
}
"""Channels of the bus, with their payload."""
_STROBES = ("launch", "clear", "start")
_REPORT, _COPY = Fields(ErrorReport(PARAMETERS)), Fields(Copy(PARAMETERS))
_CONFIGURATIONS = {
    "launch_configuration": Fields(LaunchConfiguration(PARAMETERS)),
    "arbiter": Fields(ArbiterConfiguration(PARAMETERS)),
}
_MAPS = Fields(MapConfiguration(PARAMETERS))
_STATUS = {"done": 1, "idle": 1, "clearing": 1, "tiles": 32, "corrected": 32} | dict.fromkeys(
    ("oldest", "credit_limit"), PARAMETERS.credit_limit_bits
)
_LAUNCH_ERRORS = (
    ConfigurationError.IN_USE,
    ConfigurationError.LAUNCH_RANGE,
    ConfigurationError.WINDOW,
)
_CODES = [code.value for code in ErrorCode if code.value]
_CYCLES = 4000
_CLEARING = 300  # cycles at the end

expect(
    *(f"{name} strobe" for name in _STROBES),
    "read and write act at once",
    "write refused",
    "read of nothing",
    "copy waits",
    "error while one is pending",
    "error as they are cleared",
    *(f"launch refused: {error.name}" for error in _LAUNCH_ERRORS),
)


class _Bus:
    """What is offered on the channels, until it is taken."""

    def __init__(self, rng: random.Random):
        self.traffic = BusTraffic(rng, PARAMETERS)
        self._offered: dict[str, dict[str, int]] = {}

    def inputs(self, acts: dict[str, bool]) -> dict[str, int]:
        """The bus's inputs in a cycle in which these channels act."""
        offered, traffic = self._offered, self.traffic
        if "aw" not in offered and acts["aw"]:
            offered["aw"] = {"awaddr": traffic.write_address()}
        if "w" not in offered and acts["w"] and (data := traffic.write_data()):
            offered["w"] = dict(zip(("wdata", "wstrb"), data, strict=True))
        if "ar" not in offered and acts["ar"]:
            offered["ar"] = {"araddr": traffic.read()}
        inputs = {f"{name}ready": int(acts[name]) for name in ("b", "r")}
        for name in ("aw", "w", "ar"):
            inputs |= {f"{name}valid": int(name in offered), **offered.get(name, {})}
        return inputs

    def taken(self, outputs: dict[str, int | None]) -> None:
        """Forget what the cycle with these outputs took."""
        for name in ("aw", "w", "ar"):
            if outputs[f"{name}ready"]:
                self._offered.pop(name, None)


def _random_failure(rng: random.Random) -> dict[str, int]:
    return {
        "code": rng.choice(_CODES),
        "wavefront": rng.randrange(PARAMETERS.wavefronts),
        "dispatch_index": rng.getrandbits(PARAMETERS.dispatch_index_bits),
    }


def _compare(dut, model: Model) -> None:
    """The outputs with those of the model."""
    for name, value in model.bus().items():
        if value is not None:
            assert int(getattr(dut, f"bus__{name}").value) == value, name
    for name, on in model.strobes().items():
        assert bool(getattr(dut, name).value) == on, name
        cover(f"{name} strobe", on)
    assert bool(dut.irq.value) == model.irq
    assert _MAPS.unpack(int(dut.maps.value)) == model.maps()
    for name, fields in _CONFIGURATIONS.items():
        found = fields.unpack(int(getattr(dut, name).value))
        assert found == model.configuration(fields), name
    copy = model.copy()
    assert bool(dut.copies__valid.value) == (copy is not None)
    if copy is not None:
        assert _COPY.unpack(int(dut.copies__payload.value)) == copy


@cocotb.test()
async def every_cycle(dut):
    """Programs, status, errors and copies, all channels of the bus at their own pace."""
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    inputs = [f"bus__{name}" for name in (*_Bus(rng).inputs(dict.fromkeys(CHANNELS, True)),)]
    await reset(dut, [*inputs, *_STATUS, "error__valid", "copies__ready"])
    model, bus = Model(PARAMETERS), _Bus(rng)
    pace = Pace(rng, (*CHANNELS, "copies"), rates=(0.1, 0.5, 1, 1, 1), cycles=100)
    checker = StreamChecker(dut, ("copies",))
    status = dict.fromkeys(_STATUS, 0)
    for cycle in range(scaled(_CYCLES)):
        if cycle % 400 == 0:
            failing = rng.choice([0, 0.02, 0.5])
            errors = rng.choice([model.errors, (1 << rng.randrange(33)) - 1, rng.getrandbits(32)])
            inside(dut, "errors").value = errors
            model.preset_errors(errors)
        if cycle == scaled(_CYCLES) - _CLEARING:
            # With an error in every cycle there is one in that in which they are cleared.
            failing = 1
            bus.traffic.put("CONTROL", clear_error=1)
        acts = pace.acts()
        inputs = bus.inputs(acts)
        for name, value in inputs.items():
            getattr(dut, f"bus__{name}").value = value
        if rng.random() < 0.3:
            name = rng.choice([*_STATUS])
            status[name] = rng.getrandbits(_STATUS[name])
        for name, value in status.items():
            getattr(dut, name).value = value
        failure = _random_failure(rng) if rng.random() < failing else None
        dut.error__valid.value = int(failure is not None)
        if failure:
            dut.error__report.value = _REPORT.pack(failure)
        dut.copies__ready.value = int(acts["copies"])
        await settled()
        checker.sample()
        _compare(dut, model)
        before, pending = model.bus(), model.irq
        cover("copy waits", model.copy() is not None and not acts["copies"])
        report = tuple(failure.values()) if failure else None
        model.step(inputs, status, failure=report, take=acts["copies"])
        cover("error while one is pending", failure and pending)
        cover("error as they are cleared", failure and pending and model.errors == 1)
        bus.taken(before)
        after = model.bus()
        written, read = (after[f"{name}valid"] and not before[f"{name}valid"] for name in "br")
        cover("read and write act at once", written and read)
        cover("write refused", written and after["bresp"])
        if written and model.configuration_error in _LAUNCH_ERRORS:
            cover(f"launch refused: {model.configuration_error.name}", after["bresp"])
        cover("read of nothing", read and after["rresp"])
        await next_cycle(dut)
