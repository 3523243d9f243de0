"""The proof refutes a block whose clock enable forgets a cause."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from verification.proofs.clock_gating import ClockGatingHarness
from verification.proofs.proof import Proof
from verification.proofs.run import prove


class Block(wiring.Component):
    """A register and a word of a memory, each written by an input of its own."""

    causes = ("writes_register", "writes_memory")

    def __init__(self):
        super().__init__(
            {
                "writes_register": In(1),
                "writes_memory": In(1),
                "i": In(2),
                "o": Out(2),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=2, depth=2, init=[])
        write = memory.write_port()
        m.d.comb += [write.en.eq(self.writes_memory), write.data.eq(self.i)]
        with m.If(self.writes_register):
            m.d.sync += self.o.eq(self.i)
        for cause in self.causes:
            with m.If(getattr(self, cause)):
                m.d.comb += self.clock_enable.eq(1)
        return m


class ForgetsRegister(Block):
    causes = Block.causes[1:]


class ForgetsMemory(Block):
    causes = Block.causes[:1]


def proved(block, tmp_path):
    proof = Proof(
        name="clock-gating",
        statement="",
        blocks=(block,),
        harness=ClockGatingHarness,
        geometry="",
        depth=2,
        cover_depth=4,
    )
    return prove(proof, tmp_path)


def test_a_block_that_keeps_its_promise(tmp_path):
    assert proved(Block, tmp_path).status == "proved"


def test_a_register_that_changes(tmp_path):
    result = proved(ForgetsRegister, tmp_path)
    assert result.status == "failed" and "o changes without clock enable" in result.notes[0]


def test_a_word_that_changes(tmp_path):
    result = proved(ForgetsMemory, tmp_path)
    assert result.status == "failed" and "memory port 0" in result.notes[0]
