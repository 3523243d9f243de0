"""Driver of the top behind its ports, and of the golden model with the same inputs."""

from collections.abc import Callable
from typing import Any

import cocotb
import numpy as np

from rtl.parameters import T3Parameters
from rtl.top import T3
from sysmodel.engine.golden import new_state, step
from sysmodel.engine.golden import reset as reset_state
from sysmodel.engine.ports import CHANNEL_OUTPUTS, CONTEXT_OUTPUTS, K, input_words, output_words
from tb.cycle import inputs_of, next_cycle, reset, settled
from tb.stream import StreamChecker
from tb.top.host import Host, Kernel
from tb.top.points import cover_cycle
from tb.top.ports import TopPorts

__all__ = ["Bench", "Strobe", "host_of", "kernels_of", "make_dut", "rng_of", "start"]

Stimulus = Callable[[np.ndarray, np.ndarray], None]
Strobe = Callable[[], tuple[int, int] | None]
_GEOMETRY = dict(
    channels=2,
    first_channel=1,
    system_channels=4,
    interleave_atoms=4,
    address_bits=28,
    workgroup_bits=8,
    wavefronts=4,
    tile_atom_bits=3,
    share_bits=2,
    sets=8,
    ways=2,
    banks=2,
    credit_window=8,
    command_depth=16,
    egress_slots=8,
    contexts=2,
    peers=4,
)


def make_dut(block: type = T3, *, with_data: bool = False):
    return block(T3Parameters(**_GEOMETRY, with_data=with_data))


class Bench:
    """Top, and the golden model with the same inputs."""

    def __init__(self, dut, p: T3Parameters):
        self.dut, self.p = dut, p
        self.state = new_state(p)
        self.inputs = np.zeros(input_words(p), np.uint64)
        self.outputs = np.zeros(output_words(p), np.uint64)
        reset_state(self.state, self.outputs)
        self._ports = TopPorts(dut, p)
        streams = ("link_out", "dram", "nmc_out") if p.with_data else ("link_out", "dram")
        names = [f"channel__{index}__{name}" for index in range(p.channels) for name in streams]
        self.checker = StreamChecker(dut, names)
        self.checker.add("bus b", "bus__bvalid", "bus__bready", "bus__bresp")
        self.checker.add("bus r", "bus__rvalid", "bus__rready", "bus__rdata", "bus__rresp")

    def value(self, column: int, context: int = 0) -> int:
        """Return an output of a context."""
        first = self.p.channels * CHANNEL_OUTPUTS + context * CONTEXT_OUTPUTS
        return int(self.outputs[first + column])

    async def cycle(self, stimulus: Stimulus) -> None:
        """Drive one cycle, whose inputs depend on its outputs."""
        stimulus(self.outputs, self.inputs)
        self._ports.give(self.inputs)
        await settled()
        self.checker.sample()
        self._ports.compare(self.outputs)
        cover_cycle(self.state, self.inputs, self.outputs)
        step(self.state, self.inputs, self.outputs)
        await next_cycle(self.dut)

    async def finish(self, stimulus: Stimulus, *contexts: int) -> None:
        """Run, for a bounded time, until each launch is done and has sent all packets."""
        left = set(contexts or (0,))
        for _ in range(10_000 * len(left)):
            await self.cycle(stimulus)
            left -= {one for one in left if self.value(K.done, one) and self.value(K.idle, one)}
            if not left:
                return
        raise AssertionError("The launch does not end")


async def start(dut) -> Bench:
    with_data = hasattr(dut, "channel__0__nmc_in__valid")
    await reset(dut, inputs_of(make_dut(with_data=with_data)))
    return Bench(dut, T3Parameters(**_GEOMETRY, with_data=with_data))


def host_of(
    rng: np.random.Generator, bench: Bench, *kernels: Kernel, strobe: Strobe = lambda: None
) -> Host:
    writes = [write for kernel in kernels for write in kernel.program(bench.p)]
    return Host(rng, bench.p, writes, strobe)


def rng_of(number: int) -> np.random.Generator:
    return np.random.default_rng([cocotb.RANDOM_SEED, number])


def kernels_of(p: T3Parameters, **options: Any) -> list[Kernel]:
    """Make a kernel for each context, with a buffer and an address space of its own."""
    size = 1 << 12
    return [
        Kernel(
            number=number,
            context=3 + number,
            base=size * (1 + number),
            limit=size * (2 + number),
            shift=6 + 5 * number,
            wavefronts=1,  # so that the tiles of all kernels find space
            credit_window=6,
            **options,
        )
        for number in range(p.contexts)
    ]
