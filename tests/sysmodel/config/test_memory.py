"""Memory standards, delays in ns and clocks, and files that build on each other."""

import re

import pytest

from sysmodel.config.bundled import MEMORIES
from sysmodel.config.memory import Delay, known_standard
from sysmodel.config.system import load_system, preset_names
from sysmodel.lib.errors import InputError


@pytest.mark.parametrize(
    "delay,mhz,cycles",
    [
        ({"ns": 14}, 1000, 14),
        ({"ns": 14}, 1600, 23),  # 22.4
        ({"ns": 15}, 1600, 24),  # exactly
        ({"ns": 0.1}, 3000, 1),
        ({"clocks": 4}, 1600, 4),
        ({"ns": 2.5, "clocks": 4}, 1000, 4),
        ({"ns": 2.5, "clocks": 4}, 2400, 6),
        ({}, 1000, 0),
    ],
)
def test_cycles_of_a_delay(delay, mhz, cycles):
    assert Delay(**delay).cycles(mhz) == cycles


@pytest.mark.parametrize("mhz", [500, 800, 1000, 1200])
def test_another_clock_alone_keeps_the_times(tmp_path, mhz):
    """A change of the clock alone must not change the times in ns."""
    path = tmp_path / "clock.toml"
    path.write_text(f'base = "asplos24-complete"\n[dram]\nclock_mhz = {mhz}\n')
    there, here = load_system(str(path)).dram, load_system("asplos24-complete").dram
    for name in ("tRP", "tRAS", "tRCD_RD", "tCL", "tWR", "tFAW", "tREFI", "tRFC"):
        ns = getattr(here.timing_cycles, name)  # at 1000 MHz
        cycles = getattr(there.timing_cycles, name)
        assert ns * mhz / 1e3 <= cycles < ns * mhz / 1e3 + 1 or name == "tREFI"
    assert there.timing_cycles.tREFI <= 3900 * mhz / 1e3  # refreshed no more rarely
    assert there.timing_cycles.tCCD_L == 2


def test_a_clock_beyond_the_memory_is_refused(tmp_path):
    path = tmp_path / "fast.toml"
    path.write_text('base = "mi300x"\n[dram]\nclock_mhz = 1800\n')
    with pytest.raises(InputError, match=r"dram\.clock_mhz: 1800 is not allowed.*1600 of hbm3"):
        load_system(str(path))


@pytest.mark.parametrize(
    "name,mhz,gb_per_s",
    [
        ("gddr6", 2000, 32),
        ("gddr6x", 1312.5, 42),
        ("gddr7", 1750, 28),
        ("lpddr5x", 1066.625, 17.066),
    ],
)
def test_rate_of_a_channel(tmp_path, name, mhz, gb_per_s):
    """Rate of a pin times the channel's pins: 16 Gb/s x 16, 21 x 16, 28 x 8, 8.533 x 16."""
    path = tmp_path / "mine.toml"
    path.write_text(
        f'base = "mi300x"\n[l2]\nslices = 5\n[dram]\nstandard = "{name}"\nclock_mhz = {mhz}\n'
        "channels = 5\n[t3]\nclock_divider = 1\n"
    )
    assert load_system(str(path)).dram_bytes_per_ns == pytest.approx(5 * gb_per_s)


@pytest.mark.parametrize("name", MEMORIES.names())
def test_every_standard_makes_a_memory(tmp_path, name):
    path = tmp_path / "mine.toml"
    path.write_text(
        f'base = "mi300x"\n[dram]\nstandard = "{name}"\nclock_mhz = 1000\n[t3]\nclock_divider = 1\n'
    )
    system = load_system(str(path))
    standard = known_standard(name)
    assert system.dram.most_clock_mhz == standard.dram["most_clock_mhz"]
    halves = 2 if name.startswith("hbm") else 1
    assert system.dram.timing_cycles.pseudo_channels == halves
    assert system.dram.channels == 256  # value of the base
    assert standard.source and standard.description


def test_a_standard_replaces_the_memory_of_the_base(tmp_path):
    """None of the values that asplos24 gives for its own memory remains."""
    path = tmp_path / "mine.toml"
    path.write_text('base = "asplos24"\n[dram]\nstandard = "hbm2"\n[t3]\nclock_divider = 2\n')
    dram = load_system(str(path)).dram
    assert dram.timing_cycles.tFAW == 15 and dram.row_bytes == 1024
    assert dram.timing_cycles.tRCD_WR == 12


@pytest.mark.parametrize(
    "base,standard,divider",
    [
        ("rtx4090", "gddr6", 2),
        ("asplos24", "hbm2", 2),
        ("mi300x", "gddr6x", 1),
        ("rtx4090", "gddr6x", None),
        ("mi300x", "hbm4", None),
    ],
)
def test_another_standard_needs_the_divider_of_its_clock(tmp_path, base, standard, divider):
    path = tmp_path / "mine.toml"
    text = f'base = "{base}"\n[dram]\nstandard = "{standard}"\n'
    path.write_text(text)
    if divider is not None:
        was = "base; allowed: "
        message = rf"t3\.clock_divider: missing; .* with {standard}, and . in the {was}{divider},"
        with pytest.raises(InputError, match=message):
            load_system(str(path))
        path.write_text(f"{text}[t3]\nclock_divider = {divider}\n")
    system = load_system(str(path))
    assert system.t3.clock_divider == system.dram.burst_clocks
    path.write_text(f"{text}[t3]\nclock_divider = 1\n")
    assert load_system(str(path)).t3.clock_divider == 1  # the hardware may be faster


def test_a_file_overrides_its_standard(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'base = "mi300x"\n[dram]\nstandard = "hbm3"\nrefresh = "none"\n'
        "[dram.timing]\ntFAW = { clocks = 99 }\n"
    )
    timing = load_system(str(path)).dram.timing_cycles
    assert (timing.refresh, timing.tFAW) == ("none", 99)


def test_a_delay_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('base = "asplos24"\n[dram.timing]\ntRP = { clocks = 3 }\n')
    assert load_system(str(path)).dram.timing_cycles.tRP == 3  # not the base's 14 ns


def test_an_unknown_standard(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('base = "mi300x"\n[dram]\nstandard = "ddr5"\n')
    message = re.escape(f"{path}: dram.standard: 'ddr5' is not known; allowed: gddr6, gddr6x, ")
    with pytest.raises(InputError, match=message):
        load_system(str(path))


def test_bases_stack(tmp_path):
    (tmp_path / "one.toml").write_text('base = "h200"\n[link]\nbandwidth_gb_per_s = 400\n')
    (tmp_path / "two.toml").write_text('base = "one.toml"\n[gpu]\ncompute_units = 114\n')
    system = load_system(str(tmp_path / "two.toml"))
    assert (system.link.bandwidth_gb_per_s, system.gpu.compute_units) == (400, 114)
    assert system.dram == load_system("h200").dram


def test_a_file_is_not_its_own_base(tmp_path):
    (tmp_path / "one.toml").write_text('base = "two.toml"\n')
    (tmp_path / "two.toml").write_text('base = "one.toml"\n')
    with pytest.raises(InputError, match=r"base: 'one\.toml' is the base of itself"):
        load_system(str(tmp_path / "one.toml"))


@pytest.mark.parametrize("name", preset_names())
def test_hardware_keeps_up_with_the_memory(name):
    """At its peak a channel transfers at most one atom per cycle of the hardware."""
    system = load_system(name)
    atom_ns = system.dram.burst_clocks * 1e3 / system.dram.clock_mhz
    assert system.cycle_ns <= atom_ns * 1.001


@pytest.mark.parametrize(
    "name,terabytes_per_s,petaflops",
    [
        *(("h100", 3.35, 0.989), ("h200", 4.8, 0.989)),
        *(("mi300x", 5.3, 1.307), ("b200", 8.0, 2.25)),
    ],
)
def test_presets_have_the_rates_of_their_data_sheets(name, terabytes_per_s, petaflops):
    system = load_system(name)
    assert system.dram_bytes_per_ns / 1e3 == pytest.approx(terabytes_per_s, rel=2e-3)
    assert system.peak_flops_per_ns / 1e6 == pytest.approx(petaflops, rel=2e-3)
