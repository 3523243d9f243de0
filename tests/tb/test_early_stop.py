"""The bench of each block fails if one term of a clock enable is missing.

The clock of the block then stops too early. The benches cover the blocks inside of theirs, except
those that have a bench of their own. ``tests/rtl/test_early_stop.py`` has the blocks that only
the top contains.
"""

import pytest

from rtl.blocks import TOP
from rtl.export.back_end import allow_deep_expressions
from tb.benches import BENCHES, Bench
from verification.mutation.early_stop import EarlyStop, one_of_each, with_early_stop
from verification.mutation.simulate import build, simulate
from verification.targets import BLOCKS

SEED = 1
SHORT = {"round_robin"}  # benches whose build and run take seconds
WITHOUT_CLOCK_GATE = {"address_map", "map_table"}
# Terms whose removal changes no output, each with the reason.
EQUIVALENT = {
    "DmaLane: held": "a held packet leaves in the next cycle, unless data return then: both enable "
    "the clock",
    "RangeLimits: chosen": "with several ranges, the range before is merged in the same cycle",
}


def _defects(bench: Bench, folder) -> tuple[list[EarlyStop], str]:
    """Plant the defects of a bench's own blocks; return them with the Verilog."""
    allow_deep_expressions()
    others = {kind for name in BLOCKS for kind in BENCHES[name].blocks} - {*bench.blocks}
    found, text = with_early_stop(bench.make(), bench.name, folder=folder, left_out=others)
    ours = [one for one in one_of_each(found) if one.place not in EQUIVALENT]
    return ours, text


def _run(name: str):
    return pytest.param(name, marks=() if name in SHORT else pytest.mark.verify)


@pytest.mark.parametrize("name", [_run(one) for one in sorted({*BLOCKS} - WITHOUT_CLOCK_GATE)])
def test_bench_fails(name, tmp_path):
    bench = BENCHES[name]
    print(f"seed {SEED}")
    defects, text = _defects(bench, tmp_path)
    assert defects
    build(text, name, tmp_path)
    numbers = [one.number for one in defects]
    deaths = simulate(bench.module, name, numbers, scale=1, seed=SEED, folder=tmp_path)
    survivors = [f"{one.path} {one.place}" for one in defects if one.number not in deaths]
    assert not survivors


@pytest.mark.parametrize("name", sorted(WITHOUT_CLOCK_GATE))
def test_no_clock_stops(name, tmp_path):
    assert not _defects(BENCHES[name], tmp_path)[0]


def test_every_block_but_the_top_is_covered():
    assert TOP not in BLOCKS and {*BLOCKS} >= WITHOUT_CLOCK_GATE | SHORT
