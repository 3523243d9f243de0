from dataclasses import replace

import pytest

from rtl.lib.queue import Queue
from t3.verification.proofs.registry import PROOFS
from t3.verification.seeded_bugs.queue import QUEUE
from t3.verification.seeded_bugs.registry import BROKEN


def test_names_are_unique():
    assert len({proof.name for proof in PROOFS}) == len(PROOFS)
    assert len({broken.block for broken in BROKEN}) == len(BROKEN)


def test_every_proven_block_has_a_broken_copy():
    proven = {block.__name__ for proof in PROOFS for block in proof.blocks}
    assert proven <= {broken.block for broken in BROKEN}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.block)
def test_copy_is_another_class_of_the_same_name(broken):
    copy, original = broken.copy(), broken.original
    assert copy is not original and copy.__name__ == original.__name__ == broken.block
    assert getattr(__import__(broken.module, fromlist=["x"]), broken.block) is original


def test_copy_behaves_otherwise():
    """A full queue says that it has room."""
    from amaranth.sim import Simulator

    ready = {}
    for queue in (Queue, QUEUE.copy()):
        dut = queue(4, depth=2)
        sim = Simulator(dut)
        sim.add_clock(1e-9)

        async def bench(ctx, dut=dut, queue=queue):
            ctx.set(dut.i.valid, 1)
            await ctx.tick().repeat(2)
            ready[queue] = ctx.get(dut.i.ready)

        sim.add_testbench(bench)
        sim.run()
    assert list(ready.values()) == [0, 1]


def test_source_that_is_not_there():
    with pytest.raises(ValueError, match=r"rtl\.lib\.queue must have 'nowhere' once, not 0 times"):
        replace(QUEUE, right="nowhere").copy()
