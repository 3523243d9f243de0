"""Bench of the register port: random reads and writes on AXI4-Lite, with pauses on every
channel.
"""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiResp

from rtl.interface.encodings import ConfigurationError, ErrorCode, InjectTarget
from rtl.interface.layouts import ErrorReport
from rtl.registers import map as register_map
from rtl.registers.fields import LAUNCH_CONFIGURATION
from rtl.registers.port import Registers
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, scaled
from tb.registers.lockstep import PARAMETERS, every_cycle
from tb.registers.master import bounded, outcome, read, start, write
from tb.registers.space import space_of_each_command

__all__ = ["every_cycle", "make_dut", "space_of_each_command"]

_MAP = register_map.load()
_ACCESSES = 200
# Plain storage registers whose fields have the width of their destinations.
_STORAGE = [
    _MAP[name]
    for name in (
        "WORKGROUPS",
        "TO_SEND",
        "TIMEOUT",
        "TRACKING",
        "PROGRESS",
        "ARBITER",
        "LEVELS",
        "REGION_LIMIT_HI",
        "RANGE_DISPATCH_INDICES",
        "RANGE_PEERS",
        "RANGE_GATE",
        "RANGE_BAND",
        "PEER",
        "COMMAND_TRANSFER",
        "COMMAND_WAVES",
        "COPY_START_LO",
    )
]
_READ_ONLY = [
    _MAP[name] for name in ("ID", "STATUS", "ERROR", "ERRORS", "TILES", "OLDEST", "CREDIT_LIMIT")
]
_CONTEXT = 1  # context that is programmed
_KNOWN = {register.address_in(context) for register in _MAP.values() for context in range(2)}
_HOLES = sorted(set(range(0, max(_KNOWN) + 8, 4)) - _KNOWN)
_NO_PAGES = [0x3000, 0xFFFC]
_NOT_WRITABLE = ConfigurationError.NOT_WRITABLE

expect(
    *(f"{access} refused" for access in ("partial", "read only", "hole")),
    *(
        f"configuration error {configuration_error.name}"
        for configuration_error in (ConfigurationError.OVERLAP, ConfigurationError.NONE)
    ),
)


def make_dut(block: type = Registers):
    return block(PARAMETERS)


def _mask(register: register_map.Register) -> int:
    return sum(field.mask for field in register.fields)


def _refused(register: register_map.Register) -> int:
    """Return a register's value after a refused write during reset, while the hardware is not
    idle.
    """
    if register.name != "STATUS":
        return register.reset
    return register.pack(aborting=1, configuration_error=_NOT_WRITABLE.value)


@cocotb.test()
@cocotb.parametrize(pauses=[False, True])
async def random_accesses(dut, pauses):
    rng = random.Random(cocotb.RANDOM_SEED)
    master = await start(dut, rng, pauses=pauses)
    kept = {register.name: register.reset for register in _STORAGE}
    counts = dict.fromkeys(("write", "read", "partial", "read only", "hole"), 0)
    for _ in range(scaled(_ACCESSES)):
        kind = rng.choices(list(counts), (8, 8, 1, 1, 2))[0]
        counts[kind] += 1
        if kind not in ("write", "read"):
            cover(f"{kind} refused")
        register, word = rng.choice(_STORAGE), rng.getrandbits(32)
        if kind == "write":
            assert await write(master, register.address_in(_CONTEXT), word) == AxiResp.OKAY
            kept[register.name] = word & _mask(register)
        elif kind == "read":
            assert await read(master, register.address_in(_CONTEXT)) == (
                kept[register.name],
                AxiResp.OKAY,
            )
        elif kind == "partial":
            length = rng.randrange(1, 4)
            address = register.address_in(_CONTEXT)
            assert await outcome(master, address, word, length=length) == _NOT_WRITABLE
        elif kind == "read only":
            register = rng.choice(_READ_ONLY)
            assert await outcome(master, register.address_in(_CONTEXT), word) == _NOT_WRITABLE
            assert await read(master, register.address_in(_CONTEXT)) == (
                _refused(register),
                AxiResp.OKAY,
            )
        else:
            address = rng.choice(_HOLES)
            assert await outcome(master, address, word) == _NOT_WRITABLE
            assert await read(master, address) == (0, AxiResp.SLVERR)
            address = rng.choice(_NO_PAGES)
            assert await write(master, address, word) == AxiResp.SLVERR
            assert await read(master, address) == (0, AxiResp.SLVERR)
    for register in _STORAGE:
        assert await read(master, register.address_in(_CONTEXT)) == (
            kept[register.name],
            AxiResp.OKAY,
        )
    assert all(counts.values()), counts
    cocotb.log.info("%s", counts)


@cocotb.test()
async def reads_and_writes_at_once(dut):
    """Reads and writes run in parallel, and each direction keeps its order."""
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    master = await start(dut, rng, pauses=True)
    words = [rng.getrandbits(32) for _ in range(40)]
    timeout, identification = _MAP["TIMEOUT"].address_in(_CONTEXT), _MAP["ID"]
    writes = [master.init_write(timeout, word.to_bytes(4, "little")) for word in words]
    reads = [
        master.init_read(address, 4)
        for _ in range(40)
        for address in (identification.address_in(_CONTEXT), timeout)
    ]
    seen = []
    for number, event in enumerate(reads):
        await bounded(event.wait())
        word = int.from_bytes(event.data.data, "little")
        if number % 2:
            seen.append(word)
        else:
            assert word == identification.reset
    for event in writes:
        await bounded(event.wait())
        assert event.data.resp == AxiResp.OKAY
    order = [0, *words]
    positions = [order.index(word) for word in seen]
    assert positions == sorted(positions) and positions[-1] > positions[0]
    assert await read(master, timeout) == (words[-1], AxiResp.OKAY)


async def _configure_launch(master, context: int) -> None:
    """Configure a launch for which the hardware has space."""
    for name, field in (
        ("WORKGROUPS", "count"),
        ("TRACKED_END", "dispatch_index"),
        ("CREDIT_WINDOW", "workgroups"),
        ("COMMAND_WINDOW", "workgroups"),
    ):
        await write(master, _MAP[name].address_in(context), _MAP[name].pack(**{field: 5}))
    restart = _MAP["EPOCH_RESET"]
    response = await write(master, restart.address_in(context), restart.pack(restart=1))
    assert response == AxiResp.OKAY


async def _generation(master, context: int, generation: int) -> None:
    tracking = _MAP["TRACKING"]
    await write(master, tracking.address_in(context), tracking.pack(generation=generation))


@cocotb.test()
@cocotb.parametrize(context=range(PARAMETERS.contexts))
async def a_launch_that_waits_keeps_its_registers(dut, context):
    """Each register of a pending launch refuses writes until the launch is aborted."""
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    master = await start(dut, rng, pauses=False)
    for signal in ("drained", "launch_drained"):  # so that reset and abort end
        getattr(dut, f"context__{context}__{signal}").value = 1
    await _configure_launch(master, context)
    names = sorted({register for register, _ in LAUNCH_CONFIGURATION.values()})
    addresses = {name: _MAP[name].address_in(context) for name in names}
    control = _MAP["CONTROL"].address_in(context)
    for generation in range(2):  # the second launch waits
        await _generation(master, context, generation)
        kept = {name: (await read(master, address))[0] for name, address in addresses.items()}
        error = await outcome(master, control, _MAP["CONTROL"].pack(launch=1))
        assert error == ConfigurationError.NONE
    for name, address in addresses.items():
        error = await outcome(master, address, rng.getrandbits(32))
        assert error == ConfigurationError.IN_USE
        assert await read(master, address) == (kept[name], AxiResp.OKAY)
    assert await write(master, control, _MAP["CONTROL"].pack(abort=1)) == AxiResp.OKAY
    for address in addresses.values():
        assert await outcome(master, address, 1) == ConfigurationError.NONE


@cocotb.test()
async def an_injection_into_each_memory(dut):
    """An injection is accepted for the last instance of each kind of memory, and refused
    beyond it.
    """
    master = await start(dut, random.Random(cocotb.RANDOM_SEED + 4), pauses=False)
    p, inject = PARAMETERS, _MAP["INJECT"]
    instances = {
        InjectTarget.TRACKER: p.banks,
        InjectTarget.TILES: p.contexts,
        InjectTarget.GROUPS: p.contexts,
        InjectTarget.COMMANDS: p.contexts,
        InjectTarget.ISSUE_ACKS: p.channels,
    }
    for target, count in instances.items():
        for instance, error in (
            (count - 1, ConfigurationError.NONE),
            (count, ConfigurationError.UNKNOWN_INDEX),
        ):
            word = inject.pack(target=target.value, instance=instance)
            assert await outcome(master, inject.address_in(_CONTEXT), word) == error
            taken, _ = await read(master, inject.address_in(_CONTEXT))
            fields = inject.unpack(taken)
            assert (fields["target"], fields["instance"]) == (target.value, count - 1)


@cocotb.test()
async def program_and_start(dut):
    """A region is accepted, an overlapping region is refused, a launch starts, and an error is
    cleared.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    master = await start(dut, rng, pauses=True)
    dut.context__1__drained.value = 1  # so that reset and abort end
    dut.context__1__launch_drained.value = 1
    launches = []

    async def count():
        while True:
            await FallingEdge(dut.clk)
            if int(dut.context__1__launch.value):
                launches.append(True)

    cocotb.start_soon(count())

    async def commit(index: int, base: int, limit: int) -> ConfigurationError:
        await write(master, _MAP["REGION_BASE_LO"].address_in(_CONTEXT), base)
        await write(master, _MAP["REGION_LIMIT_LO"].address_in(_CONTEXT), limit)
        register = _MAP["REGION_COMMIT"]
        error = await outcome(
            master, register.address_in(_CONTEXT), register.pack(index=index, enable=1)
        )
        cover(f"configuration error {error.name}")
        return error

    async def status() -> dict[str, int]:
        word, _ = await read(master, _MAP["STATUS"].address_in(_CONTEXT))
        return _MAP["STATUS"].unpack(word)

    assert await commit(0, 0x1000, 0x2000) == ConfigurationError.NONE
    assert await commit(1, 0x1FE0, 0x3000) == ConfigurationError.OVERLAP
    assert await commit(1, 0x2000, 0x3000) == ConfigurationError.NONE
    await _configure_launch(master, _CONTEXT)
    control = _MAP["CONTROL"]
    none, in_use = ConfigurationError.NONE, ConfigurationError.IN_USE
    for generation, fields, error in (
        (0, {"launch": 1}, none),  # begins
        (1, {"launch": 1}, none),  # waits
        (2, {"launch": 1}, in_use),
        (3, {"abort": 1}, in_use),  # an abort cannot be refused, and keeps the code
        (4, {"launch": 1}, none),
    ):
        await _generation(master, _CONTEXT, generation)
        assert bool(int(dut.context__1__maps.value) & 1) == bool(launches)
        word = control.pack(**fields)
        assert await outcome(master, control.address_in(_CONTEXT), word) == error
    await RisingEdge(dut.clk)
    assert len(launches) == 2
    await FallingEdge(dut.clk)
    dut.context__1__error__valid.value = 1
    report = {"code": ErrorCode.NO_SHARE, "dispatch_index": 0x1234, "wavefront": 3}
    dut.context__1__error__report.value = ErrorReport(PARAMETERS).const(report).as_bits()
    await FallingEdge(dut.clk)
    assert int(dut.context__1__irq.value)
    dut.context__1__error__valid.value = 0
    word, _ = await read(master, _MAP["ERROR"].address_in(_CONTEXT))
    assert _MAP["ERROR"].unpack(word) == report | {"code": report["code"].value}
    assert (await status())["error"] == 1
    assert await write(master, _MAP["CONTROL"].address_in(_CONTEXT), 8) == AxiResp.OKAY
    await RisingEdge(dut.clk)
    assert (await status())["error"] == 0 and not int(dut.context__1__irq.value)


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, inputs_of(make_dut()))
