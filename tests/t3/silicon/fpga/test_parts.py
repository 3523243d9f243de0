"""Choice of a part; the sizes are those of Lattice's data sheet FPGA-DS-02012, table 1.1."""

import pytest

from sysmodel.lib.errors import InputError
from t3.silicon.fpga.parts import smallest_part


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        ({"LUT4": 17_000}, "LFE5U-25F"),
        ({"LUT4": 17_100}, "LFE5U-45F"),
        ({"LUT4": 16_000, "CCU2C": 600}, "LFE5U-45F"),
        ({"LUT4": 16_000, "TRELLIS_DPR16X4": 200}, "LFE5U-45F"),
        ({"TRELLIS_FF": 40_000}, "LFE5U-85F"),
        ({"DP16KD": 56}, "LFE5U-25F"),
        ({"DP16KD": 57}, "LFE5U-45F"),
    ],
)
def test_smallest_part(cells, name):
    assert smallest_part(kind for kind, count in cells.items() for _ in range(count)).name == name


@pytest.mark.parametrize("cells", [{"LUT4": 59_000}, {"DP16KD": 209}])
def test_too_large(cells):
    with pytest.raises(InputError, match="more than LFE5U-85F takes"):
        smallest_part(kind for kind, count in cells.items() for _ in range(count))
