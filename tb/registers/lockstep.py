"""The register port in every cycle against the golden model, with everything at its ports."""

import random

import cocotb
import numpy as np

from rtl.interface.configuration import (
    SOURCE_BITS,
    AddressSpace,
    ArbiterConfiguration,
    ContextView,
    Inbound,
    Injection,
    LaunchConfiguration,
    MapConfiguration,
)
from rtl.interface.encodings import ConfigurationError, ErrorCode
from rtl.interface.layouts import Copy, ErrorReport
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.error_log import ERROR_LOG_DEPTH
from rtl.registers.map import CONTEXT, GLOBAL
from tb.cover import cover, expect
from tb.cycle import next_cycle, reset, scaled, settled
from tb.inside import inside
from tb.payload import Fields
from tb.registers.model import Model
from tb.registers.traffic import BusTraffic
from tb.stream import Pace, StreamChecker

__all__ = ["CHANNELS", "PARAMETERS", "every_cycle"]

PARAMETERS = T3Parameters(contexts=2)
CHANNELS = {
    "aw": ("awaddr", "awprot"),
    "w": ("wdata", "wstrb"),
    "b": ("bresp",),
    "ar": ("araddr",),
    "r": ("rdata", "rresp"),
}
"""Channels of the bus, with their payload."""
_CONTEXTS = range(PARAMETERS.contexts)
_STROBES = ("launch", "abort", "start")
_REPORT, _COPY = Fields(ErrorReport(PARAMETERS)), Fields(Copy(PARAMETERS))
_CONFIGURATIONS = {
    "launch_configuration": Fields(LaunchConfiguration(PARAMETERS)),
    "address_space": Fields(AddressSpace(PARAMETERS)),
    "inbound": Fields(Inbound()),
}
_FORMER = Fields(ContextView(PARAMETERS).members["former"])
_ARBITER = Fields(ArbiterConfiguration(PARAMETERS))
_MAPS = Fields(MapConfiguration(PARAMETERS))
_INJECTION = Fields(Injection())
_FLAGS = ("done", "over", "idle", "gone", "clearing", "sent")
_STATUS = dict.fromkeys(_FLAGS, 1) | {
    "tiles": 32,
    "oldest": PARAMETERS.credit_limit_bits,
    "credit_limit": PARAMETERS.credit_limit_bits,
}
_AT_REST = {"done": 1, "over": 1, "gone": 1, "clearing": 0}
_LAUNCH_ERRORS = (
    ConfigurationError.IN_USE,
    ConfigurationError.LAUNCH_RANGE,
    ConfigurationError.WINDOW,
    ConfigurationError.EPOCH,
)
_CODES = [code.value for code in ErrorCode if code.value]
# Of each page's log, what counts a kind of error: in the order of their codes.
_LOGS = {GLOBAL: "gpu.log"} | {CONTEXT + context: f"context_{context}.log" for context in _CONTEXTS}
_COUNTERS = [
    [name for code in ErrorCode if (name := f"{prefix}COUNT_{code.name}") in register_map.load()]
    for prefix in ("", "GPU_")
]
_CYCLES = 9000
_CLEARING = 300  # cycles at the end

expect(
    *(f"{name} strobe" for name in _STROBES),
    "read and write act at once",
    "write refused",
    "read of nothing",
    "copy waits",
    "copy refused during an abort",
    "an abort ends",
    "launch waits",
    "launch begins as the one before is done",
    "launch without a kernel",
    "entry locked",
    "scrubbed",
    "injection",
    "patrol strobe",
    "locked for the user",
    "error while one is pending",
    "error as they are cleared",
    "error while the log is full",
    "error dropped from the log",
    "interrupt",
    "interrupt of no context",
    "interrupt seen",
    *(f"launch refused: {error.name}" for error in _LAUNCH_ERRORS),
)


class _Bus:
    """What is offered on the channels, until it is taken."""

    def __init__(self, rng: random.Random, model: Model):
        self.traffic = BusTraffic(rng, PARAMETERS, model.needs)
        self._offered: dict[str, dict[str, int]] = {}

    def inputs(self, acts: dict[str, bool]) -> dict[str, int]:
        """The bus's inputs in a cycle in which these channels act."""
        offered, traffic = self._offered, self.traffic
        if "aw" not in offered and acts["aw"]:
            address, prot = traffic.write_address()
            offered["aw"] = {"awaddr": address, "awprot": prot}
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


# Whose the error is, is said by the port that it comes to.
_NOT_KEPT = ("owner", "stray")


def _random_failure(rng: random.Random) -> dict[str, int]:
    return {
        "code": rng.choice(_CODES),
        "wavefront": rng.randrange(PARAMETERS.wavefronts),
        "dispatch_index": rng.getrandbits(PARAMETERS.dispatch_index_bits),
        "atom": rng.getrandbits(PARAMETERS.atom_address_bits),
        "source": rng.getrandbits(SOURCE_BITS),
        "channel": rng.randrange(PARAMETERS.channels),
        "owner": 0,
        "stray": 0,
    }


def _port(dut, context: int, name: str):
    return getattr(dut, f"context__{context}__{name}")


def _compare(dut, model: Model) -> None:
    """The outputs with those of the model."""
    for name, value in model.bus().items():
        if value is not None:
            assert int(getattr(dut, f"bus__{name}").value) == value, name
    assert _ARBITER.unpack(int(dut.arbiter.value)) == model.arbiter()
    assert bool(dut.irq.value) == model.irq
    assert _INJECTION.unpack(int(dut.inject.value)) == model.injection()
    assert bool(dut.patrol.value) == model.patrol
    cover("patrol strobe", model.patrol)
    for context in _CONTEXTS:
        _compare_context(dut, model, context)


def _compare_context(dut, model: Model, context: int) -> None:
    for name, on in (model.strobes(context) | model.flags(context)).items():
        assert bool(_port(dut, context, name).value) == on, name
        if name in _STROBES:
            cover(f"{name} strobe", on)
    assert int(_port(dut, context, "ways").value) == model.ways(context)
    assert _FORMER.unpack(int(_port(dut, context, "former").value)) == model.former(context)
    assert _MAPS.unpack(int(_port(dut, context, "maps").value)) == model.maps(context)
    for name, fields in _CONFIGURATIONS.items():
        found = fields.unpack(int(_port(dut, context, name).value))
        assert found == model.configuration(context, name), name
    copy = model.copy(context)
    assert bool(_port(dut, context, "copies__valid").value) == (copy is not None)
    if copy is not None:
        assert _COPY.unpack(int(_port(dut, context, "copies__payload").value)) == copy


class _Hardware:
    """What is behind the registers: status and errors at random."""

    def __init__(self, dut, rng: random.Random):
        self._dut, self._rng = dut, rng
        self.corrected, self.armed, self.patrolled = 0, False, 0
        self.statuses = [dict.fromkeys(_STATUS, 0) for _ in _CONTEXTS]
        self.failing = 0.0
        self.at_rest = False  # nothing is left that a launch or an abort waits for

    def drive(self, model: Model) -> list[dict[str, int] | None]:
        """One cycle's status; gives the error reports of the contexts, and of none."""
        dut, rng = self._dut, self._rng
        if rng.random() < 0.1:
            self.corrected, self.patrolled = rng.getrandbits(32), rng.getrandbits(32)
        self.armed = rng.random() < 0.5
        dut.corrected.value, dut.armed.value = self.corrected, int(self.armed)
        dut.patrolled.value = self.patrolled
        failures = []
        for context, status in enumerate(self.statuses):
            if rng.random() < 0.3:
                name = rng.choice([*_STATUS])
                status[name] = rng.getrandbits(_STATUS[name])
            if self.at_rest:
                status |= _AT_REST
            # Without a launch there is nothing that could be left of it.
            status["over"] |= not model.flags(context)["launched"]
            for name, value in status.items():
                _port(dut, context, name).value = value
            failures.append(self._fail(f"context__{context}__error"))
        failures.append(self._fail("error"))
        return failures

    def _fail(self, port: str) -> dict[str, int] | None:
        failure = _random_failure(self._rng) if self._rng.random() < self.failing else None
        getattr(self._dut, f"{port}__valid").value = int(failure is not None)
        if failure:
            told = {name: failure[name] for name in failure if name not in _NOT_KEPT}
            getattr(self._dut, f"{port}__report").value = _REPORT.pack(told, rest=self._rng)
        return failure


def _preset_counts(dut, model: Model, rng: random.Random) -> None:
    for page, place in _LOGS.items():
        errors = rng.choice([model.errors(page), (1 << rng.randrange(33)) - 1, rng.getrandbits(32)])
        inside(dut, f"{place}.total").value = errors
        model.preset_errors(page, errors)
        for number, register in enumerate(_COUNTERS[page == GLOBAL]):
            if rng.random() < 0.5:
                # Full, or so but for a bit.
                full = [0xFFFF, *[0xFFFF ^ 1 << rng.randrange(16)] * 2]
                count = rng.choice([*full, (1 << rng.randrange(17)) - 1, rng.getrandbits(16)])
                inside(dut, f"{place}.counts__{number}").value = count
                model.preset_count(page, register, count)
    # Mostly such that there are epochs left.
    epoch = rng.choice([model.next_epoch, 254, 256, *[rng.randrange(1, 256)] * 4])
    # Made flat, it has the name of the pages that it goes to.
    inside(dut, "gpu.next_epoch", "context_0.next_epoch").value = epoch
    model.preset_epoch(epoch)


@cocotb.test()
async def every_cycle(dut):
    """Programs, status, errors and copies, all channels of the bus at their own pace."""
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    model = Model(PARAMETERS)
    bus, hardware = _Bus(rng, model), _Hardware(dut, rng)
    inputs = [f"bus__{name}ready" for name in ("b", "r")]
    for name in ("aw", "w", "ar"):
        inputs += [f"bus__{port}" for port in (f"{name}valid", *CHANNELS[name])]
    ports = [*_STATUS, "error__valid", "copies__ready"]
    inputs += [f"context__{context}__{name}" for context in _CONTEXTS for name in ports]
    await reset(dut, [*inputs, "corrected", "armed", "patrolled", "error__valid"])
    copies = [f"context__{context}__copies" for context in _CONTEXTS]
    pace = Pace(rng, tuple(CHANNELS), rates=(0.1, 0.5, *[1] * 20), cycles=100)
    takers = Pace(rng, tuple(copies), rates=(0, 0.1, 0.5, 1), cycles=100)
    checker = StreamChecker(dut, copies)
    for cycle in range(scaled(_CYCLES)):
        if cycle % 400 == 0:
            hardware.failing = rng.choice([0, 0.02, 0.5])
            hardware.at_rest = rng.random() < 0.3
            _preset_counts(dut, model, rng)
        if cycle == scaled(_CYCLES) - _CLEARING:
            # With an error in every cycle there is one in that in which they are cleared.
            hardware.failing = 1
            bus.traffic.put(rng.choice(_CONTEXTS), "CONTROL", clear_error=1)
        acts = pace.acts() | takers.acts()
        inputs = bus.inputs(acts)
        for name, value in inputs.items():
            getattr(dut, f"bus__{name}").value = value
        failures = hardware.drive(model)
        takes = [acts[name] for name in copies]
        for name, take in zip(copies, takes, strict=True):
            getattr(dut, f"{name}__ready").value = int(take)
        await settled()
        checker.sample()
        _compare(dut, model)
        before, owns, epoch = model.bus(), model.state.contexts.copy(), model.next_epoch
        logged, irqs = [model.logged(context) for context in _CONTEXTS], model.irqs
        given = hardware.corrected, hardware.armed, hardware.patrolled
        model.step(inputs, *given, hardware.statuses, failures, takes)
        cover("injection", model.injection()[0])
        bus.taken(before)
        _cover(model, owns, before, takes)
        _cover_errors(model, logged, irqs, failures)
        cover("scrubbed", model.next_epoch < epoch)
        await next_cycle(dut)


def _cover_errors(
    model: Model,
    logged: list[int],
    irqs: list[bool],
    failures: list[dict[str, int] | None],
) -> None:
    """Look at what the logs had before the cycle, and what interrupted."""
    for context, before in enumerate(logged):
        after, failure = model.logged(context), failures[context]
        cover("error while one is pending", failure and before)
        cover("error as they are cleared", failure and before > 1 and after == 1)
        cover("error while the log is full", failure and before == after == ERROR_LOG_DEPTH)
        cover("error dropped from the log", not failure and before > 1 and after == before - 1)
    for was, irq in zip(irqs, model.irqs, strict=True):
        cover("interrupt", irq)
        cover("interrupt seen", was and not irq)
    cover("interrupt of no context", model.irq)


def _cover(
    model: Model,
    owns: np.ndarray,
    before: dict[str, int | None],
    takes: list[bool],
) -> None:
    """Look at a cycle: the contexts and the bus before it, and the model after it."""
    after = model.bus()
    written, read = (after[f"{name}valid"] and not before[f"{name}valid"] for name in "br")
    cover("read and write act at once", written and read)
    cover("write refused", written and after["bresp"])
    cover("read of nothing", read and after["rresp"])
    for context, own in enumerate(owns):
        cover("copy waits", own["copies_level"] and not takes[context])
        cover("an abort ends", own["aborting"] and not model.flags(context)["aborting"])
        error = model.configuration_error(context)
        if written and after["bresp"] and error.value != own["configuration_error"]:
            if error in _LAUNCH_ERRORS:
                cover(f"launch refused: {error.name}")
            in_use = error is ConfigurationError.IN_USE
            cover("copy refused during an abort", in_use and own["aborting"])
            cover("entry locked", in_use and own["pending"])
            cover("locked for the user", error is ConfigurationError.LOCKED)
        waits = model.pending(context) and own["pending"]
        cover("launch waits", waits)
        begins = model.strobes(context)["launch"]
        cover("launch begins as the one before is done", begins and own["open"])
        cover("launch without a kernel", begins and not own["launch"]["workgroups"])
