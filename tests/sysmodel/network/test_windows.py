"""Windows of the address space: their numbers, and the channels of the places in them."""

import numpy as np
import pytest

from sysmodel.config.system import load_system
from sysmodel.engine.hardware import hardware_parameters
from sysmodel.gpu.geometry.placement import END_OF_REGIONS_ATOM
from sysmodel.lib.interleave import REGION_ATOM_BITS, channel_of_atom
from sysmodel.network.windows import (
    PLACE_ATOM_BITS,
    WINDOW_ATOM_BITS,
    window_address_bits,
    window_atoms,
)


@pytest.mark.parametrize("channels", [1, 2, 8, 32, 48, 80, 96, 128, 256])
def test_a_place_has_the_same_channel_in_every_window(channels):
    print("seed", channels)
    places = np.random.default_rng(channels).integers(0, 1 << PLACE_ATOM_BITS, 50).tolist()
    for window in (0, 1, 2, 7, 8, 63, 64, 255):
        added = window_atoms(window, channels)
        assert added >> WINDOW_ATOM_BITS == window
        assert added & (1 << PLACE_ATOM_BITS) - 1 == 0
        for place in places:
            for offset_bits in (0, 3):
                there = channel_of_atom(place + added, offset_bits, channels)
                assert there == channel_of_atom(place, offset_bits, channels)


def test_windows_lie_above_all_places():
    """Regions of today, and places up to 2**44 bytes."""
    atom_bytes = load_system().dram.atom_bytes
    assert max(END_OF_REGIONS_ATOM, 1 << REGION_ATOM_BITS) < 1 << PLACE_ATOM_BITS
    assert (1 << 44) // atom_bytes <= 1 << PLACE_ATOM_BITS


@pytest.mark.parametrize("gpus", [2, 8, 63, 64, 255])
def test_the_widest_address_has_the_last_window(gpus):
    system = load_system()
    bits = window_address_bits(gpus, system.dram.atom_bytes)
    last = (window_atoms(2 * gpus, system.dram.channels) + 1) * system.dram.atom_bytes - 1
    assert last.bit_length() == bits <= 64
    assert hardware_parameters(system, address_bits=bits).address_bits == bits
    assert hardware_parameters(system).address_bits == 40
