from dataclasses import replace

import pytest

from rtl.blocks import BLOCKS
from rtl.lib.queue import Queue
from verification.proofs.registry import PROOFS, UNPROVEN
from verification.seeded_bugs.of_contexts import BUGS_OF_CONTEXTS
from verification.seeded_bugs.of_errors import BUGS_OF_ERRORS
from verification.seeded_bugs.of_gates import BUGS_OF_GATES
from verification.seeded_bugs.of_limits import BUGS_OF_LIMITS
from verification.seeded_bugs.of_ports import BUGS_OF_FABRIC, BUGS_OF_PORTS, BUGS_OF_TURNS
from verification.seeded_bugs.table import SEEDED_BUGS, bug_of


def test_names_are_unique():
    assert len({proof.name for proof in PROOFS}) == len(PROOFS)
    assert len({bug.block for bug in SEEDED_BUGS}) == len(SEEDED_BUGS)


def test_every_block_is_proven_or_has_a_reason():
    proven = {block for proof in PROOFS for block in proof.blocks}
    assert {name for name, block in BLOCKS.items() if block.kind not in proven} == UNPROVEN.keys()


def test_every_proven_block_has_a_seeded_bug():
    """Except blocks with clock-gating proofs only; test_clock_gating.py covers those proofs."""
    proofs = [proof for proof in PROOFS if not proof.name.startswith("clock-gating-")]
    proven = {block.__name__ for proof in proofs for block in proof.blocks}
    tables = (BUGS_OF_CONTEXTS, BUGS_OF_ERRORS, BUGS_OF_LIMITS, BUGS_OF_GATES)
    named = (bug for table in tables for _, bug in table)
    of_ports = (*BUGS_OF_FABRIC, *BUGS_OF_PORTS, *BUGS_OF_TURNS)
    assert proven <= {bug.block for bug in (*SEEDED_BUGS, *named, *of_ports)}


@pytest.mark.parametrize("bug", SEEDED_BUGS, ids=lambda bug: bug.block)
def test_seeded_block_is_another_class_of_the_same_name(bug):
    seeded, original = bug.seeded(), bug.original
    assert seeded is not original and seeded.__name__ == original.__name__ == bug.block
    assert getattr(__import__(bug.module, fromlist=["x"]), bug.block) is original


def test_seeded_block_behaves_otherwise():
    """A full queue offers space."""
    from amaranth.sim import Simulator

    ready = {}
    for queue in (Queue, bug_of("Queue").seeded()):
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
        replace(bug_of("Queue"), right="nowhere").seeded()
