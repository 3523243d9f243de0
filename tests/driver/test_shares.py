"""Two contexts at one channel: each gets its share, and a stopped context does not affect the
other.
"""

import pytest

from rtl.interface.encodings import ConfigurationError
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.engine import GoldenEngine
from sysmodel.engine.native.engine import Engine
from sysmodel.engine.simulated_bus import SimulatedBus
from t3.driver import T3, RefusedError, Transfer
from tests.support.two_gpus import join_ring

P = T3Parameters(
    channels=1, system_channels=1, address_bits=28, sets=8, ways=4, credit_window=16,
    command_depth=16, egress_slots=32, contexts=2,
)  # fmt: skip
BASE, LIMIT = 1 << 17, 1 << 21
CYCLES = 3000
BOTH = {0, 1}


class Copies:
    """Copies one after the other: the lanes, the DRAM's reads and the link.

    A lane's memories have one port: it sends an atom in two cycles at most.
    """

    least_alone = 350

    def begin(self, context):
        pass

    def feed(self, bus, contexts):
        for context in contexts:
            try:
                context.copy(BASE, Transfer(rows=16, run_atoms=64, stride_atoms=256))
            except RefusedError as refused:
                assert refused.code is ConfigurationError.QUEUE_FULL


class RemoteStores:
    """Stores that leave at once, from an L2 that alternates between the contexts."""

    least_alone = 600

    def begin(self, context):
        context.command(0, Transfer())
        context.remote_map(0, 1)
        context.window(workgroups=1, tracked=(1, 1))
        context.reset_epochs()
        context.launch()

    def feed(self, bus, contexts):
        for index in range(300):
            for context in contexts:
                bus.store(context=3 + context.number, atom=BASE // 32 + index)


@pytest.fixture(params=[pytest.param(Engine, marks=pytest.mark.verify), GoldenEngine])
def engine(request):
    return request.param


def throughput(engine, work, active, *, stopped=()):
    """Packets of each context that leave in a thousand cycles in which they are busy."""
    with engine(P) as hardware:
        bus = SimulatedBus(P, hardware)
        contexts = [T3(bus).context(number) for number in range(P.contexts)]
        while any(context.status["aborting"] for context in contexts):
            pass  # the end of the reset
        for context in contexts:
            context.assign(3 + context.number)
            context.wait_idle()
            join_ring(context, 3 + context.number)
            context.region(0, BASE, LIMIT, share=True)
            if context.number in active:
                work.begin(context)
        bus.stop_link(stopped)
        begin = bus.cycles
        for _ in range(CYCLES // 100):
            work.feed(bus, [contexts[number] for number in active])
            for _ in range(100):
                bus.cycle()
        per_packet = 1000 / (bus.cycles - begin)
        owners = [packet["owner"] for packet in bus.sent]
        return [per_packet * owners.count(context.number) for context in contexts]


@pytest.mark.parametrize("work", [Copies(), RemoteStores()], ids=["copies", "remote-stores"])
def test_both_get_their_share(engine, work):
    """Each context gets at least 40 % of its throughput alone."""
    alone = [throughput(engine, work, {number})[number] for number in range(P.contexts)]
    together = throughput(engine, work, BOTH)
    print(alone, together)
    assert min(alone) > work.least_alone
    assert sum(together) > 900  # so that the contexts compete
    assert all(one >= 0.4 * own for one, own in zip(together, alone, strict=True))


@pytest.mark.parametrize("number", BOTH)
def test_a_stopped_link_is_its_own(engine, number):
    """The other context keeps 95 % of its throughput alone."""
    other = 1 - number
    alone = throughput(engine, Copies(), {other})[other]
    together = throughput(engine, Copies(), BOTH, stopped={number})
    print(alone, together)
    assert together[other] >= 0.95 * alone
    assert together[number] == 0
