"""Parameters that the hardware refuses, and builds with the others."""

import pytest
from amaranth.back import rtlil

from rtl.parameters import T3Parameters
from rtl.top import T3

SMALL = {
    "channels": 1,
    "system_channels": 4,
    "interleave_atoms": 4,
    "atom_bytes": 16,
    "address_bits": 20,
    "workgroup_bits": 8,
    "wavefronts": 4,
    "tile_atom_bits": 6,
    "context_bits": 3,
    "tag_bits": 6,
    "sets": 16,
    "ways": 2,
    "banks": 2,
    "credit_window": 16,
    "command_depth": 16,
    "dma_walkers": 2,
    "egress_slots": 8,
}


@pytest.mark.parametrize(
    "values, message",
    [
        ({"wavefronts": 16}, "wavefronts must be at most 8, not 16"),
        ({"workgroup_bits": 17}, "workgroup_bits must be at most 16, not 17"),
        ({"context_bits": 5}, "context_bits must be at most 4, not 5"),
        ({"system_channels": 512}, "system_channels must be at most 256, not 512"),
        ({"tile_atom_bits": 1}, "tile_atom_bits must be at least 2, not 1"),
        ({"command_depth": 1}, "command_depth must be at least 2, not 1"),
        ({"address_bits": 65}, "address_bits must be at most 64, not 65"),
        ({"share_bits": 1}, "share_bits must be at least 2, not 1"),
        ({"share_bits": 9}, "share_bits must be at most 8, not 9"),
        (
            {"address_bits": 12, "tile_atom_bits": 4, "share_bits": 3},
            "address_bits must be at least 13, so that .* as an end-of-tile marker, not 12",
        ),
        ({"credit_window": 3}, "credit_window must be a power of two, not 3"),
        (
            {"channels": 5},
            r"first_channel \+ channels must be at most system_channels \(4\), not 5",
        ),
        ({"banks": 32}, r"banks must be at most sets \(16\), not 32"),
        ({"sets": 256}, "sets must be less than the 256 workgroup ids, not 256"),
        ({"atom_bytes": 4}, "atom_bytes must be a multiple of 8, not 4"),
        ({"ways": 0}, "ways must be at least 1, not 0"),
    ],
)
def test_refused(values, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        T3Parameters(**SMALL | values)


def test_top_reaches_every_channel():
    values = {"address_bits": 11, "interleave_atoms": 64, "tile_atom_bits": 2, "share_bits": 2}
    with pytest.raises(ValueError, match="^address_bits must be at least 12 for every .*, not 11$"):
        T3(T3Parameters(**SMALL | values))


def test_types():
    with pytest.raises(TypeError, match="^ways must be an integer, not 2.0$"):
        T3Parameters(ways=2.0)
    with pytest.raises(TypeError, match="^with_data must be a bool, not 1$"):
        T3Parameters(with_data=1)


@pytest.mark.parametrize(
    "values",
    [
        {"address_bits": 10, "wavefronts": 1, "tile_atom_bits": 2, "share_bits": 2}
        | {
            "credit_window": 1,
            "regions": 1,
            "ranges": 1,
            "commands": 1,
            "dma_walkers": 1,
            "tag_bits": 1,
        },
        pytest.param(
            {"system_channels": 1, "interleave_atoms": 1, "context_bits": 1, "workgroup_bits": 5}
            | {"wavefronts": 8, "command_depth": 2, "egress_slots": 1, "ways": 1, "banks": 16},
            marks=pytest.mark.verify,  # sixteen banks take long to elaborate
        ),
    ],
    ids=str,
)
def test_at_the_limits(values):
    """Parameters that are accepted can be elaborated."""
    assert rtlil.convert(T3(T3Parameters(**SMALL | values)), ports=[])
