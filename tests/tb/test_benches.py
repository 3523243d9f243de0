"""Every bench passes on its block, and reaches all of its cover points."""

import pytest

from rtl.blocks import BLOCKS, TOP
from tb.benches import BENCHES

# Their build is long, and tests/rtl and tests/lockstep have a short run of each in Amaranth.
_LEFT_TO_VERIFY = BENCHES.keys() - {"round_robin"}
_WITHOUT_A_BENCH = {
    "tracker": "its front and banks have theirs; what joins them is in the top's",
}


def _run(name, **arguments):
    marks = pytest.mark.verify if name in _LEFT_TO_VERIFY else ()
    ending = "-".join(["", *arguments])
    return pytest.param(name, arguments, id=f"{name}{ending}", marks=marks)


@pytest.mark.parametrize(("name", "arguments"), [*map(_run, BENCHES), _run(TOP, with_data=True)])
def test_passes(bench, name, arguments):
    target = BENCHES[name]
    bench(target.make(**arguments), name=name, test_module=target.module, seed=target.seed)


def test_every_block_has_a_bench():
    tested = {kind for target in BENCHES.values() for kind in target.blocks}
    without = {name for name, block in BLOCKS.items() if block.kind not in tested}
    assert without == _WITHOUT_A_BENCH.keys()
