"""Proofs of clock gating: a clock-gated block holds its state without clock enable."""

from collections.abc import Iterator, Sequence

from amaranth.hdl import (
    Assert,
    Const,
    Cover,
    Elaboratable,
    Fragment,
    MemoryInstance,
    Module,
    Signal,
    Value,
)
from amaranth.lib.wiring import In

from rtl.lib.gating import gated_block
from rtl.lib.memory_queue import MemoryQueue
from rtl.lib.pipeline_register import PipelineRegister
from rtl.lib.protected_memory import ProtectedMemory
from rtl.lib.protected_queue import ProtectedQueue
from rtl.lib.queue import Queue
from rtl.lib.wide_counter import WideCounter
from rtl.link.errors import LinkErrors
from rtl.registers.context_page import ContextPage
from rtl.registers.error_log import ErrorLog
from rtl.registers.error_priority_encoder import ErrorPriorityEncoder
from rtl.registers.global_page import GlobalPage
from rtl.registers.port import Registers

from .error_path import ENCODER_CODES, LOG_KINDS
from .proof import Proof
from .registers import GEOMETRY
from .streams import free

__all__ = ["PROOFS", "ClockGatingHarness", "clock_gating"]


def _behind_one_gate(fragment: Fragment) -> Iterator[Fragment]:
    """Yield a block's fragments without the fragments of inner clock-gated blocks."""
    yield fragment
    for inner, *_ in fragment.subfragments:
        if gated_block(inner) is None:
            yield from _behind_one_gate(inner)


def _registers(parts: Sequence[Fragment]) -> list[Signal]:
    found = [
        signal
        for part in parts
        for domain, statements in part.statements.items()
        if domain != "comb"
        for signal in statements._lhs_signals()
    ]
    return list({id(signal): signal for signal in found}.values())


def _memory_enables(parts: Sequence[Fragment]) -> list[Value]:
    """List the enables of the clocked memory ports: writes, and reads into a register."""
    ports = [
        port
        for part in parts
        if isinstance(part, MemoryInstance)
        for port in (*part._write_ports, *part._read_ports)
    ]
    return [port._en for port in ports if port._domain != "comb"]


class ClockGatingHarness(Elaboratable):
    """Harness with free inputs and a running clock.

    A state change that the gated clock would suppress appears in the next cycle.
    """

    def __init__(self, block: type, *arguments, **options):
        self._block = block(*arguments, **options)

    def elaborate(self, platform):
        m = Module()
        block = self._block
        fragment = Fragment.get(block, None)
        parts = list(_behind_one_gate(fragment))
        m.submodules.block = fragment
        inputs = (v for _, member, v in block.signature.flatten(block) if member.flow is In)
        # The `ready` of a stream that is always taken is constant.
        free(m, *(v for v in inputs if not isinstance(v, Const)))
        idle, enable = Signal(), Signal()
        m.d.comb += enable.eq(block.clock_enable)
        m.d.sync += idle.eq(~enable)
        for register in _registers(parts):
            before = Signal.like(register, name=f"{register.name}_before")
            m.d.sync += before.eq(register)
            unchanged = register == before
            m.d.comb += Assert(~idle | unchanged, f"{register.name} changes without clock enable")
            self.relate(m, register, unchanged)
        for number, port in enumerate(_memory_enables(parts)):
            m.d.comb += Assert(enable | ~port.any(), f"memory port {number} without clock enable")
        m.d.comb += [
            Cover(idle & enable, "the clock starts"),
            Cover(~idle & ~enable, "the clock stops"),
        ]
        return m

    def relate(self, m: Module, register: Signal, unchanged: Value) -> None:
        """Add an invariant about a register for the induction."""


def clock_gating(
    name: str,
    noun: str,
    block: type,
    *arguments,
    geometry: str,
    harness: type[ClockGatingHarness] = ClockGatingHarness,
    **options,
) -> Proof:
    """Make the proof that a clock-gated block holds its state.

    Parameters
    ----------
    name, noun : str
        Name of the block in the proof's name and in its statement.
    *arguments, **options
        Class of the block and its arguments.
    geometry : str
        Sizes of the block; see :class:`Proof`.
    harness : type
        Harness of the block.
    """
    return Proof(
        name=f"clock-gating-{name}",
        statement=f"While the clock enable of {noun} is low, none of its registers and memory "
        "words would change",
        blocks=(block,),
        harness=lambda one: harness(one, *arguments, **options),
        geometry=geometry,
        reason="the proof depends on no width",
        depth=2,
        cover_depth=12,
    )


_PAGES = "2 contexts, 2 regions, 2 ranges, 2 commands, addresses of 8 bits"
_WORDS = "4 words of 8 bits"

PROOFS = (
    clock_gating("queue", "a queue", Queue, 8, depth=4, geometry=_WORDS),
    clock_gating("memory-queue", "a memory queue", MemoryQueue, 8, depth=4, geometry=_WORDS),
    clock_gating(
        "split-queue",
        "a memory queue in two halves",
        MemoryQueue,
        8,
        depth=4,
        split=True,
        geometry=_WORDS,
    ),
    clock_gating(
        "protected-queue", "a queue with check bits", ProtectedQueue, 8, depth=4, geometry=_WORDS
    ),
    clock_gating(
        "protected-memory", "a memory with check bits", ProtectedMemory, 8, depth=4, geometry=_WORDS
    ),
    clock_gating("wide-counter", "a counter", WideCounter, 20, geometry="20 bits"),
    clock_gating(
        "pipeline-register", "a pipeline register", PipelineRegister, 8, geometry="8 bits"
    ),
    clock_gating(
        "error-priority-encoder",
        "the error priority encoder",
        ErrorPriorityEncoder,
        GEOMETRY,
        **ENCODER_CODES,
        geometry=f"{_PAGES}; 2 errors of each context's unit, 1 of issue acknowledgements, 2 each "
        "of banks, stores and packets, 1 of links",
    ),
    clock_gating(
        "error-log", "an error log", ErrorLog, GEOMETRY, LOG_KINDS, geometry="2 counted kinds"
    ),
    clock_gating(
        "link-errors", "the register of link errors", LinkErrors, GEOMETRY, geometry="1 link"
    ),
    clock_gating("register-port", "the register port", Registers, GEOMETRY, geometry=_PAGES),
    clock_gating(
        "context-page", "a context's register page", ContextPage, GEOMETRY, geometry=_PAGES
    ),
    clock_gating("gpu-page", "the GPU's register page", GlobalPage, GEOMETRY, geometry=_PAGES),
)
