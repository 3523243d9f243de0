"""Bad inputs, acknowledgements and messages of a machine; other tests cover its results."""

import pytest

from rtl.interface.encodings import ErrorCode
from rtl.registers.map import load
from sysmodel.config.system import load_system
from sysmodel.lib.errors import SimulationError
from sysmodel.machine import machine as machine_module
from sysmodel.machine import watchdog
from sysmodel.machine.machine import Machine
from sysmodel.machine.tiling import kernel_of
from sysmodel.machine.until import UNTIL_GEMM, UNTIL_PROGRAMMED, UNTIL_REDUCED
from tests.support.small_system import scaled, small_system

SYSTEM = small_system()


def machine_of(
    m=512, n=192, k=64, gpus=2, *, system=SYSTEM, channels=None, mirror=False, **options
):
    return Machine(
        system,
        kernel_of(system, m, n, k, gpus),
        engine="golden",
        channels=system.dram.channels if channels is None else channels,
        mirror=mirror,
        **options,
    )


@pytest.fixture
def machine():
    with machine_of() as one:
        yield one


def maps(machine, *more):
    return [machine.map_writes(g, address_space=1) + list(more) for g in range(machine.gpus)]


def write_of(name, **values):
    register = load()[name]
    return register.address, register.pack(**values)


@pytest.mark.parametrize(
    "m,n,gpus,message",
    [
        (768, 96, 4, "6 workgroups do not divide into 4 equal chunks"),
        (416, 96, 4, "the chunks' tiles differ, so one GPU cannot represent all"),
    ],
)
def test_ring_in_which_one_does_not_stand_for_all_is_refused(m, n, gpus, message):
    with pytest.raises(ValueError, match=message):
        machine_of(m, n, gpus=gpus, mirror=True)


def test_channels_without_an_atom_of_some_tile_are_refused():
    system = load_system()
    with pytest.raises(ValueError, match="1 of 32 channels do not hold an atom .* more channels"):
        machine_of(1024, 97, gpus=8, system=system, channels=1, mirror=True)


@pytest.mark.parametrize(
    "section,values,message",
    [
        ("gpu", {"compute_units": 1024, "workgroups_per_cu": 3}, "1024 CUs of 3 workgroups"),
    ],
)
def test_system_larger_than_the_model_is_refused(section, values, message):
    with pytest.raises(ValueError, match=message):
        machine_of(system=scaled(SYSTEM, **{section: values}))


@pytest.mark.parametrize("mirror,gpus", [(True, 1), (False, 2)])
def test_mirror_simulates_one_gpu(mirror, gpus):
    with machine_of(mirror=mirror, channels=2) as machine:
        assert machine.gpus == len(machine.state.gpu) == gpus
        assert machine.whole == 2


def test_refused_write_is_named(machine):
    machine.write([[], [write_of("RANGE_COMMIT", index=0, enable=1)]])
    machine.run(UNTIL_PROGRAMMED)
    machine.idle(5)  # the status of the page is read
    with pytest.raises(SimulationError, match="GPU 1: the hardware refused the write of RANGE_C"):
        machine.run(UNTIL_PROGRAMMED)


def test_error_of_the_hardware_is_raised(machine):
    machine.launch(maps(machine, write_of("TIMEOUT", ticks=2)))
    machine.state.fixed["work"] = 0
    tracked = machine.kernel.chunks.sizes[1]
    message = f"error {ErrorCode.TIMEOUT.value} for dispatch index {tracked}, "
    with pytest.raises(SimulationError, match=message):
        machine.run(UNTIL_REDUCED)


def test_machine_that_stands_still_is_reported(monkeypatch):
    """A request may wait for the memory's age cap of 1000 cycles, for which the watchdog allows."""
    monkeypatch.setattr(machine_module, "_SLICE_CYCLES", 100)
    monkeypatch.setattr(watchdog, "STILL_CYCLES", 2000)
    with machine_of(system=scaled(SYSTEM, gpu={"kernel_launch_ns": 0.0})) as machine:
        machine.launch(maps(machine))
        machine.state.fixed["work"] = 0
        begin = machine.now
        message = r"nothing has moved for \d+ cycles, in cycle \d+: 0 of 8 workgroups are done"
        with pytest.raises(SimulationError, match=message):
            machine.run(UNTIL_REDUCED)
        assert 2000 < machine.now - begin < 5000


def test_machine_that_moves_may_take_its_time(monkeypatch):
    monkeypatch.setattr(machine_module, "_SLICE_CYCLES", 100)
    monkeypatch.setattr(watchdog, "STILL_CYCLES", 2000)
    seen = []
    # A kernel's launch is a time in which nothing moves.
    with machine_of(system=scaled(SYSTEM, gpu={"kernel_launch_ns": 0.0})) as machine:
        machine.launch(maps(machine))
        begin = machine.now
        assert machine.run(UNTIL_REDUCED, seen.append) == machine.now - begin > 2400
        assert seen == list(range(begin + 100, machine.now, 100))
        assert machine.run(UNTIL_REDUCED) == 0


def test_idle_lets_exactly_that_much_time_pass(machine):
    assert machine.now == 0
    machine.idle(37)
    assert machine.now == 37
    machine.idle(0)
    assert machine.now == 37


def test_registers_are_read_over_the_bus(machine):
    assert machine.read(1, "ID") == {"id": 0x5433_0001}
    cuts = {"cut0": 3, "cut1": 70, "cut2": 127}
    machine.write([[], [write_of("CUTS", **cuts)]])
    machine.run(UNTIL_PROGRAMMED)
    assert machine.read(1, "CUTS") == cuts
    assert machine.read(0, "CUTS") == {"cut0": 0, "cut1": 0, "cut2": 0}


def test_every_gpu_starts_later_by_the_skew(machine):
    launched = machine.launch(maps(machine), skew_cycles=500)
    begin = launched + SYSTEM.cycles(SYSTEM.gpu.kernel_launch_ns)
    assert machine.state.kernel["start"].tolist() == [[begin], [begin + 500]]
    machine.run(UNTIL_GEMM)
    first, second = machine.state.kernel["finish_cycle"][:, 0]
    assert first < second
    assert machine.state.stage_begin[:, 0].tolist() == [begin, begin + 500]


def test_expected_chunks_add_up(machine):
    atoms = machine.kernel.tiling.m * machine.kernel.tiling.n // 16
    machine.expect([1, 0])
    assert machine.state.gpu["expected"].tolist() == [atoms // 2] * 2
    machine.expect([0, 1])
    assert machine.state.gpu["expected"].tolist() == [atoms] * 2


def test_output_beyond_its_region_of_the_address_space_is_refused():
    system = small_system()
    kernel = kernel_of(system, 1 << 16, 1 << 14, 64, 4)
    with pytest.raises(ValueError, match="exceeds the 1073741824 bytes that the model maps"):
        Machine(system, kernel, engine="golden", channels=1, mirror=True)
