"""Bench of the register port with traffic at all its ports, compared with the golden model in every
cycle.
"""

import random

import cocotb
import numpy as np
from amaranth.lib import data

from rtl.interface.configuration import (
    RANK_BITS,
    AddressSpace,
    ArbiterConfiguration,
    ContextView,
    Inbound,
    Injection,
    LaunchConfiguration,
    MapConfiguration,
    PeerLaunch,
)
from rtl.interface.encodings import ConfigurationError, ErrorCode
from rtl.interface.layouts import Copy, ErrorReport
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.error_log import ERROR_LOG_DEPTH
from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.engine.golden.registers.interrupts import interrupts
from sysmodel.engine.golden.registers.launch import ABORT, MEASURE, next_epoch
from sysmodel.engine.golden.registers.words import F, R, field_bits, field_of
from tb.cover import cover, expect
from tb.cycle import next_cycle, reset, scaled, settled
from tb.golden import maps, offered, slots_of, words
from tb.inside import inside
from tb.payload import Fields
from tb.registers.bus import CHANNELS, Bus
from tb.registers.model import Model
from tb.stream import Pace, StreamChecker

__all__ = ["PARAMETERS", "every_cycle"]

# Ways that hold the largest credit window, whatever the wavefronts are, if one context has all.
PARAMETERS = T3Parameters(contexts=2, ways=30, peers=5)
# Outputs of the bus whose values count while their channel offers them.
_RESPONSES = (*CHANNELS["b"], *CHANNELS["r"])
_CONTEXTS = range(PARAMETERS.contexts)
_STROBES = ("launch", "abort", "start")
_REPORT, _COPY = Fields(ErrorReport(PARAMETERS)), Fields(Copy(PARAMETERS))
_CONFIGURATIONS = {
    "launch_configuration": Fields(LaunchConfiguration(PARAMETERS)),
    "address_space": Fields(AddressSpace(PARAMETERS)),
    "inbound": Fields(Inbound()),
}
_FORMER, _WAVEFRONTS, _PEERS = (
    Fields(ContextView(PARAMETERS).members[name]) for name in ("former", "wavefronts", "peers")
)
_PEER_LAUNCH = PeerLaunch().size
_ARBITER = Fields(ArbiterConfiguration(PARAMETERS))
_MAPS = Fields(MapConfiguration(PARAMETERS))
_INJECTION = Fields(Injection())
_FLAGS = ("done", "launch_drained", "idle", "drained", "clearing", "dma_idle", "reports")
_STATUS = dict.fromkeys(_FLAGS, 1) | {
    "peer_launches": data.ArrayLayout(PeerLaunch(), PARAMETERS.peers).size,
    "tiles": 32,
    "oldest": PARAMETERS.credit_limit_bits,
    "credit_limit": PARAMETERS.credit_limit_bits,
}
_AT_REST = {"done": 1, "launch_drained": 1, "idle": 1, "drained": 1, "clearing": 0}
_AT_REST |= {"peer_launches": 0}
_LAUNCH_ERRORS = (
    ConfigurationError.IN_USE,
    ConfigurationError.LAUNCH_RANGE,
    ConfigurationError.EMPTY,
    ConfigurationError.NO_PEER,
    ConfigurationError.NO_CONTEXT,
    ConfigurationError.WINDOW,
    ConfigurationError.GENERATION,
    ConfigurationError.EPOCH,
)
_CODES = [code for code in ErrorCode if code.value]
# Log of each page, and its error counters in the order of the codes.
_LOGS = {GLOBAL: "gpu.log"} | {CONTEXT + context: f"context_{context}.log" for context in _CONTEXTS}
_COUNTERS = [
    [name for code in ErrorCode if (name := f"{prefix}COUNT_{code.name}") in register_map.load()]
    for prefix in ("", "GPU_")
]
_EVENTS = {field.name: 1 for field in register_map.load()["INTERRUPTS"].fields}
_PEER_COMMIT = register_map.load()["PEER_COMMIT"].offset
_CYCLES = 9000
_FREQUENT_PLACES = 6  # for errors of stores and packets
_CLEARING = 300  # cycles at the end

expect(
    *(f"{name} strobe" for name in _STROBES),
    "read and write act at once",
    "write to no page",
    "write of no register",
    "read of nothing",
    "copy waits",
    "copy refused during an abort",
    "an abort ends",
    "launch waits",
    "launch closes a region",
    "region of a copy removed",
    "region of a copy not moved",
    "launch waits on hold",
    "launch begins as the one before is done",
    "launch without a kernel",
    "more slots than workgroups",
    "entry locked",
    "peer written",
    "peer removed",
    "peer of a context in use not written",
    "epoch reset",
    "injection",
    "scrub strobe",
    "locked for the user",
    "overlap",
    "error while one is pending",
    "error as they are cleared",
    "error while the log is full",
    "error of a packet while the log has places for rare errors only",
    "errors of two kinds",
    "error dropped from the log",
    "interrupt",
    "interrupt of no context",
    "interrupt seen",
    *(f"launch refused: {error.name}" for error in _LAUNCH_ERRORS),
)


# The log does not store the owner: the port of the error implies it.
_NOT_KEPT = ("owner", "unowned", "kinds", "frequent")


def _is_frequent(code: ErrorCode) -> bool:
    """Return whether a stream of stores or packets may raise the error in every cycle."""
    return code.name.split("_")[0] in ("STORE", "PACKET")


def _random_failure(rng: random.Random) -> dict[str, int]:
    codes = rng.sample(_CODES, rng.choice([1, 1, 2, 5]))
    # The report is a rare error's, if there is one.
    first, *_ = sorted(codes, key=_is_frequent)
    return {
        "code": first.value,
        "kinds": sum(1 << code.value for code in codes),
        "frequent": int(_is_frequent(first)),
        "wavefront": rng.randrange(PARAMETERS.wavefronts),
        "dispatch_index": rng.getrandbits(PARAMETERS.dispatch_index_bits),
        "atom": rng.getrandbits(PARAMETERS.atom_address_bits),
        "source": rng.getrandbits(RANK_BITS),
        "channel": rng.randrange(PARAMETERS.channels),
        "owner": 0,
        "unowned": 0,
    }


def _port(dut, context: int, name: str):
    return getattr(dut, f"context__{context}__{name}")


def _compare(dut, model: Model) -> None:
    """The outputs with those of the model."""
    for page, place in _LOGS.items():
        total = int(inside(dut, f"{place}.total").value)
        assert total == int(model.state.logs[page]["log_total"]), f"{place}: errors"
    bus = model.bus()
    for name, value in bus.items():
        if name not in _RESPONSES or bus[f"{name[0]}valid"]:
            assert int(getattr(dut, f"bus__{name}").value) == value, name
    assert _ARBITER.unpack(int(dut.arbiter.value)) == words(model.state.config["arbiter"])
    assert bool(dut.irq.value) == interrupts(model.state.registers, GLOBAL)
    assert _INJECTION.unpack(int(dut.inject.value)) == _injection(model)
    scrub = bool(model.state.gpu["scrubber"]["scrub_strobe"])
    assert bool(dut.scrub.value) == scrub
    cover("scrub strobe", scrub)
    for context in _CONTEXTS:
        _compare_context(dut, model, context)


def _injection(model: Model) -> list[int]:
    """Return the fields of the injection port."""
    word = int(model.state.registers[GLOBAL][R.INJECT]["contents"])
    fields = (F.INJECT_target, F.INJECT_instance, F.INJECT_double)
    return [int(model.state.gpu["injection"]["strobe"]), *(field_of(word, one) for one in fields)]


def _irqs(model: Model) -> list[bool]:
    """Return, for each context, whether an enabled event is pending."""
    return [interrupts(model.state.registers, CONTEXT + context) for context in _CONTEXTS]


def _compare_context(dut, model: Model, context: int) -> None:
    own = model.state.contexts[context]
    control, strobes = own["control"], int(own["control"]["strobes"])
    flags = {
        "launch": control["launches"],
        "abort": strobes & ABORT,
        "start": strobes & MEASURE,
        **{name: control[name] for name in ("aborting", "pending")},
        "launched": control["open"],
        "cut_short": strobes & ABORT and control["running"],
        "irq": _irqs(model)[context],
    }
    for name, on in flags.items():
        assert bool(_port(dut, context, name).value) == bool(on), name
        if name in _STROBES:
            cover(f"{name} strobe", on)
    assert int(_port(dut, context, "ways").value) == own["ways"]
    assert int(_port(dut, context, "rank").value) == own["rank"]
    assert int(_port(dut, context, "may_await").value) == own["may_await"]
    peers = words(own["peers"][: PARAMETERS.peers])
    assert _PEERS.unpack(int(_port(dut, context, "peers").value)) == peers
    former = [int(control[f"former_{name}"]) for name in _FORMER.names]
    assert _FORMER.unpack(int(_port(dut, context, "former").value)) == former
    assert _MAPS.unpack(int(_port(dut, context, "maps").value)) == maps(model.state, context)
    waves = model.state.commands[context]["waves"].max(axis=1)
    expected = waves[model.state.ranges[context]["command"].astype(int)].tolist()
    assert _WAVEFRONTS.unpack(int(_port(dut, context, "wavefronts").value)) == expected
    launch = own["launch"]
    slots = slots_of({name: int(launch[name]) for name in launch.dtype.names})
    assert int(_port(dut, context, "slots").value) == slots
    cover("more slots than workgroups", slots > launch["workgroups"])
    for name, fields in _CONFIGURATIONS.items():
        found = fields.unpack(int(_port(dut, context, name).value))
        assert found == words(own["launch" if name.startswith("launch") else name]), name
    queue = own["copies"]
    copy = offered(queue, "copies")
    assert bool(_port(dut, context, "copies__valid").value) == (copy is not None)
    if copy is not None:
        assert _COPY.unpack(int(_port(dut, context, "copies__payload").value)) == copy


class _Hardware:
    """Blocks behind the registers, with random status and errors."""

    def __init__(self, dut, rng: random.Random):
        self._dut, self._rng = dut, rng
        self.statuses = [dict.fromkeys(_STATUS, 0) for _ in _CONTEXTS]
        self.failing = 0.0
        self.at_rest = False  # no work is left for which a launch or an abort waits

    def drive(self, model: Model) -> list[dict[str, int] | None]:
        """Drive one cycle's status into both; return the error reports of no context, and of
        each."""
        dut, rng, failures = self._dut, self._rng, []
        if rng.random() < 0.1:
            registers = model.state.registers["contents"][GLOBAL]
            for port, word in (("corrected", R.CORRECTED), ("scrub_corrected", R.SCRUB_CORRECTED)):
                registers[word] = count = rng.getrandbits(32)
                getattr(dut, port).value = count
        dut.armed.value = armed = int(rng.random() < 0.5)
        model.state.gpu["injection"]["armed_shown"] = armed
        for context, status in enumerate(self.statuses):
            if rng.random() < 0.3:
                name = rng.choice([*_STATUS])
                status[name] = rng.getrandbits(_STATUS[name])
                if name == "idle":  # mostly, so that peers change
                    status[name] = int(rng.random() < 0.8)
            if rng.random() < 0.1:  # mostly at most one peer admits anything
                at = rng.randrange(PARAMETERS.peers) * _PEER_LAUNCH
                launch = rng.getrandbits(_PEER_LAUNCH)
                status["peer_launches"] = rng.choice([0, launch << at, launch << at])
            if self.at_rest:
                status |= _AT_REST
            # Without a launch, no work can be left.
            status["launch_drained"] |= not model.state.contexts[context]["control"]["open"]
            for name, value in status.items():
                _port(dut, context, name).value = value
            failures.append(self._fail(f"context__{context}__error"))
        return [self._fail("error"), *failures]

    def _fail(self, port: str) -> dict[str, int] | None:
        failure = _random_failure(self._rng) if self._rng.random() < self.failing else None
        getattr(self._dut, f"{port}__valid").value = int(failure is not None)
        # Without an error the other signals are arbitrary.
        kinds = failure["kinds"] if failure else self._rng.getrandbits(len(ErrorCode))
        getattr(self._dut, f"{port}__kinds").value = kinds
        if failure:
            fields = {name: failure[name] for name in failure if name not in _NOT_KEPT}
            getattr(self._dut, f"{port}__report").value = _REPORT.pack(fields, rest=self._rng)
        return failure


def _preset_counts(dut, model: Model, rng: random.Random) -> None:
    for page, place in _LOGS.items():
        errors = rng.choice(
            [
                int(model.state.logs[page]["log_total"]),
                (1 << rng.randrange(33)) - 1,
                rng.getrandbits(32),
            ]
        )
        inside(dut, f"{place}.total").value = errors
        model.state.logs[page]["log_total"] = errors
        for number, register in enumerate(_COUNTERS[page == GLOBAL]):
            if rng.random() < 0.5:
                # Saturated, or different from that in one bit.
                full = [0xFFFF, *[0xFFFF ^ 1 << rng.randrange(16)] * 2]
                count = rng.choice([*full, (1 << rng.randrange(17)) - 1, rng.getrandbits(16)])
                inside(dut, f"{place}.counts__{number}").value = count
                model.state.registers[page][getattr(R, register)]["contents"] = count
    for context, before in enumerate(_epochs(model)):
        # Mostly a value with which epochs are left.
        epoch = rng.choice([before, 254, 255, 256, 256, *[rng.randrange(1, 256)] * 4])
        inside(dut, f"context_{context}.next_epoch").value = epoch
        page = CONTEXT + context
        model.state.registers[page][R.EPOCHS]["contents"] = epoch << F.EPOCHS_next[1]


def _epochs(model: Model) -> list[int]:
    """Return the next epoch of each context."""
    pages = (model.state.registers[CONTEXT + context] for context in _CONTEXTS)
    return [int(next_epoch(page)) for page in pages]


@cocotb.test()
async def every_cycle(dut):
    """Programs, status, errors and copies agree with the model, with each channel of the bus at its
    own pace.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    model = Model(PARAMETERS)
    bus, hardware = Bus(rng, PARAMETERS, model), _Hardware(dut, rng)
    inputs = [f"bus__{name}ready" for name in ("b", "r")]
    for name in ("aw", "w", "ar"):
        inputs += [f"bus__{port}" for port in (f"{name}valid", *CHANNELS[name])]
    ports = [*_STATUS, "error__valid", "copies__ready"]
    inputs += [f"context__{context}__{name}" for context in _CONTEXTS for name in ports]
    await reset(dut, [*inputs, "corrected", "armed", "scrub_corrected", "error__valid"])
    copies = [f"context__{context}__copies" for context in _CONTEXTS]
    pace = Pace(rng, tuple(CHANNELS), rates=(0.1, 0.5, *[1] * 20), cycles=100)
    takers = Pace(rng, tuple(copies), rates=(0, 0.1, 0.5, 1), cycles=100)
    checker = StreamChecker(dut, copies)
    for cycle in range(scaled(_CYCLES)):
        if cycle % 400 == 0:
            hardware.failing = rng.choice([0, 0.02, 0.5])
            hardware.at_rest = rng.random() < 0.4
            _preset_counts(dut, model, rng)
        if cycle % 1600 == 1000:
            hardware.failing = 0
            for _ in range(4):
                bus.traffic.put(rng.choice(_CONTEXTS), "CONTROL", drop_error=1)
            for context in _CONTEXTS:
                bus.traffic.put(context, "INTERRUPTS", **_EVENTS)
        if cycle == scaled(_CYCLES) - _CLEARING:
            # With an error in every cycle, an error also occurs in the cycle of the clear.
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
        before, owns, epochs = model.bus(), model.state.contexts.copy(), _epochs(model)
        logged, irqs = _logged(model), _irqs(model)
        model.step(inputs, hardware.statuses, failures, takes)
        cover("injection", model.state.gpu["injection"]["strobe"])
        bus.taken(before)
        _cover(model, owns, before, takes)
        _cover_errors(model, logged, irqs, failures)
        cover("epoch reset", any(map(int.__lt__, _epochs(model), epochs)))
        await next_cycle(dut)


def _logged(model: Model) -> list[int]:
    """Return the number of errors in the log of each context."""
    return model.state.logs["log_level"][CONTEXT:].tolist()


def _cover_errors(
    model: Model, logged: list[int], irqs: list[bool], failures: list[dict[str, int] | None]
) -> None:
    """Record the cover points of the logs, before the cycle, and of the interrupts."""
    for context, before in enumerate(logged):
        after, failure = _logged(model)[context], failures[CONTEXT + context]
        cover("error while one is pending", failure and before)
        cover("error as they are cleared", failure and before > 1 and after == 1)
        cover("error while the log is full", failure and before == after == ERROR_LOG_DEPTH)
        cover(
            "error of a packet while the log has places for rare errors only",
            failure and failure["frequent"] and before == after == _FREQUENT_PLACES,
        )
        cover("errors of two kinds", failure and failure["kinds"].bit_count() > 1)
        cover("error dropped from the log", not failure and before > 1 and after == before - 1)
    for was, irq in zip(irqs, _irqs(model), strict=True):
        cover("interrupt", irq)
        cover("interrupt seen", was and not irq)
    cover("interrupt of no context", interrupts(model.state.registers, GLOBAL))


def _cover(model: Model, owns: np.ndarray, before: dict[str, int], takes: list[bool]) -> None:
    """Record the cover points of a cycle, from the contexts and the bus before it, and the model
    after it.
    """
    after = model.bus()
    written, read = (after[f"{name}valid"] and not before[f"{name}valid"] for name in "br")
    cover("read and write act at once", written and read)
    cover("write to no page", written and after["bresp"])
    cover("read of nothing", read and after["rresp"])
    controls = model.state.contexts["control"]
    holds = model.state.registers["contents"][CONTEXT:, R.LOCK] & field_bits(F.LOCK_hold)
    peers_after = model.state.contexts["peers"]
    for own, now, after_peers, takes_copy, held in zip(
        owns, controls, peers_after, takes, holds, strict=True
    ):
        cover("copy waits", own["copies"]["copies_level"] and not takes_copy)
        cover("an abort ends", own["control"]["aborting"] and not now["aborting"])
        error = ConfigurationError(int(now["configuration_error"]))
        if written and error.value != own["control"]["configuration_error"]:
            cover("write of no register", error is ConfigurationError.NOT_WRITABLE)
            if error in _LAUNCH_ERRORS:
                cover(f"launch refused: {error.name}")
            in_use = error is ConfigurationError.IN_USE
            cover("copy refused during an abort", in_use and own["control"]["aborting"])
            cover("entry locked", in_use and own["control"]["pending"])
            wrote_peer = int(model.state.gpu["bus"]["awaddr"]) & 0xFFF == _PEER_COMMIT
            cover("peer of a context in use not written", in_use and wrote_peer)
            calm = not (now["aborting"] or own["control"]["pending"] or now["running"])
            cover("region of a copy not moved", in_use and calm and own["control"]["reading"])
            cover("locked for the user", error is ConfigurationError.LOCKED)
            cover("overlap", error is ConfigurationError.OVERLAP)
        peers = zip(own["peers"]["enable"], after_peers["enable"], strict=True)
        changes = [int(enabled) - int(was) for was, enabled in peers]
        cover("peer written", 1 in changes)
        cover("peer removed", -1 in changes)
        cover("launch closes a region", now["closed"] and not own["control"]["closed"])
        cover("region of a copy removed", now["kept"] and not own["control"]["kept"])
        waits = now["pending"] and own["control"]["pending"]
        cover("launch waits", waits)
        cover("launch waits on hold", waits and held and not own["control"]["running"])
        begins = now["launches"]
        cover("launch begins as the one before is done", begins and own["control"]["open"])
        cover("launch without a kernel", begins and not own["launch"]["workgroups"])
