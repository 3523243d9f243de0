import pytest

from rtl.registers.map import load
from sysmodel.config import limits
from sysmodel.config.system import load_system
from sysmodel.engine.hardware import hardware_parameters
from sysmodel.lib.errors import InputError


def test_hardware_of_the_paper_s_system():
    p = hardware_parameters(load_system(), channels=2)
    assert (p.channels, p.system_channels, p.atom_bytes, p.interleave_atoms) == (2, 32, 32, 8)
    assert p.sets * p.ways == 2048
    assert p.dma_walkers == 4
    assert p.contexts == 1  # a run has a single program
    assert not p.with_data


@pytest.mark.parametrize("channels,banks", [(1, 1), (2, 1), (8, 4), (32, 16)])
def test_some_channels_have_their_share_of_the_tracker_s_banks(channels, banks):
    """A sample's tracker delays the memory as the whole tracker does."""
    assert hardware_parameters(load_system(), channels=channels).banks == banks


def test_limits_of_the_configuration_are_the_widths_of_the_register_fields():
    registers = load()
    widest = {
        "LEVELS.level0": limits.MOST_OCCUPANCY,
        "CUTS.cut0": limits.MOST_OCCUPANCY,
        "STARVATION.cycles": limits.MOST_STARVATION_CYCLES,
        "COMMAND_TRANSFER.group_log2": limits.MOST_GROUP_WORKGROUPS.bit_length() - 1,
    }
    for name, most in widest.items():
        register, field = name.split(".")
        assert most == (1 << registers[register][field].width) - 1, name


def test_updates_must_not_be_faster_than_the_reduce_unit(tmp_path):
    path = tmp_path / "fast.toml"
    path.write_text('base = "asplos24"\n[dram.timing]\ntCCD_WL = { clocks = 3 }\n')
    system = load_system(str(path))
    assert not hardware_parameters(system).with_data
    with pytest.raises(
        InputError, match=r"dram\.timing\.tCCD_WL: 3 cycles .*allowed: the 4 of the reduce"
    ):
        hardware_parameters(system, with_data=True)
