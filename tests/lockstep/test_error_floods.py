"""Floods of errors, on the golden model and the RTL: each rare error among them is counted, is
logged, and interrupts within its bound.
"""

import numpy as np
import pytest

from driver.python import UPSTREAM
from rtl.interface.encodings import ErrorCode, InjectTarget, PacketKind
from rtl.registers import map as register_map
from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, I, J, K
from tb.top.host import Host, Injections, Kernel
from tb.top.traffic import Traffic, of_peers
from tests.support.lockstep_geometries import BANKS, GEOMETRIES
from tests.support.lockstep_recording import record, replay

MAP = register_map.load()
P = GEOMETRIES[BANKS]
CYCLES, BEGIN = 3000, 1000
BOUND = 2  # cycles from a link's error to the interrupt
PLACES = 8
KERNEL = Kernel(group_log2=1, own=17, timeout=20)


class Flood(Traffic):
    """Traffic of a launch, and packets with an error at every channel and in every cycle.

    Parameters
    ----------
    unowned : bool
        The packets belong to no context, instead of to the launch.
    down_at : int
        Cycle in which a link goes down.
    flaps : bool
        From then on, a peer's abort comes and goes.
    """

    def __init__(self, *arguments, unowned=False, down_at=-1, flaps=False, **options):
        super().__init__(*arguments, **options)
        self._unowned, self._down_at, self._flaps = unowned, down_at, flaps

    def __call__(self, outputs, inputs):
        super().__call__(outputs, inputs)
        cycle, (kernel,) = self._cycle - 1, self._kernels
        for number in range(P.channels):
            block = inputs[number * CHANNEL_INPUTS : (number + 1) * CHANNEL_INPUTS]
            block[[I.link_down, I.link_reset]] = 0
            if number == 1:
                block[I.link_down] = cycle == self._down_at
            if cycle >= BEGIN:
                block[I.link_in_valid] = 1
                block[I.link_in_kind] = PacketKind.UPDATE.value
                block[I.link_in_context] = kernel.context + self._unowned
                block[I.link_in_source] = kernel.senders(PacketKind.UPDATE)[0]
                block[I.link_in_generation] = kernel.generation
                block[I.link_in_atom] = kernel.limit + 8  # outside the region
        of_context = inputs[P.channels * CHANNEL_INPUTS :]
        if self._flaps and cycle >= BEGIN:
            of_context[of_peers(P, "generation_in")] = kernel.generation
            of_context[J.aborted_in_0 + UPSTREAM] = cycle % 2


def run(*, seed, writes=(), extra=None, **options):
    """Run the flood on both models; return the recording of the golden model."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    program = [*KERNEL.program(P), *writes]
    host = Host(rng, P, program, None if extra is None else extra(rng))
    recording = record(P, Flood(rng, P, KERNEL, host, **options), CYCLES)
    replay(recording)
    return recording


def count(recording, name):
    register = MAP[name]
    page = recording.state.registers[GLOBAL if register.page == GLOBAL else CONTEXT]
    return int(page[register.offset // 4]["contents"])


def logged(recording, page):
    """Return the codes in a page's log, the oldest first."""
    log = recording.state.logs[page]
    places = (int(log["log_head"]) + np.arange(int(log["log_level"]))) % PLACES
    return [ErrorCode(int(error) & 0xFF) for error in log["errors"][places]]


def irq(recording):
    """Return the context's interrupt, cycle by cycle."""
    return recording.outputs[:, P.channels * CHANNEL_OUTPUTS + K.irq]


def test_link_down_among_packets_of_no_context():
    """A link that goes down interrupts the context within its bound, and is counted and logged."""
    enable = MAP["INTERRUPT_ENABLE"]
    writes = [(enable.address, enable.pack(link=1, error=0))]
    recording = run(seed=1, writes=writes, unowned=True, down_at=BEGIN + 500)
    assert count(recording, "GPU_COUNT_PACKET_UNMAPPED") > CYCLES - BEGIN - 100
    assert count(recording, "GPU_COUNT_LINK_DOWN") == 1
    assert logged(recording, GLOBAL).count(ErrorCode.LINK_DOWN) == 1
    assert int(np.argmax(irq(recording))) == BEGIN + 500 + BOUND


@pytest.mark.parametrize("seed", [2])
def test_errors_of_a_context_among_refused_packets(seed):
    """A lost tile and the timeout that follows from it are counted and logged."""
    recording = run(
        seed=seed,
        extra=lambda rng: Injections(rng, P, target=InjectTarget.TRACKER, double=True, chance=0.05),
    )
    flood = count(recording, "COUNT_PACKET_UNMAPPED")
    assert flood > CYCLES - BEGIN - 100
    kinds = ErrorCode.TRACKER_CORRUPT, ErrorCode.TIMEOUT
    assert all(count(recording, f"COUNT_{kind.name}") for kind in kinds)
    assert set(kinds) <= set(logged(recording, CONTEXT))


def test_an_abort_that_comes_and_goes():
    """A peer's abort is one error of the launch."""
    recording = run(seed=3, flaps=True)
    assert count(recording, "COUNT_PEER_ABORTED") == 1
    assert logged(recording, CONTEXT).count(ErrorCode.PEER_ABORTED) == 1
