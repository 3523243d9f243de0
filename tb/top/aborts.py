"""Tests of aborts of running launches."""

import cocotb
import numpy as np

from rtl.interface.encodings import Access, Origin
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from sysmodel.engine.golden.trigger.trigger import GROUP
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, G, H, I, K, O
from tb.cycle import scaled
from tb.top.driver import Bench, host_of, kernels_of, rng_of, start
from tb.top.host import Host, Kernel
from tb.top.traffic import Gated, Storm, Traffic

__all__ = ["abort_of_a_triggered_tile", "aborts", "aborts_in_a_storm", "one_of_two_aborted"]

_MAP = register_map.load()
_CONTROL, _STATUS, _TRACKING = (_MAP[name] for name in ("CONTROL", "STATUS", "TRACKING"))
_LINK_DEPTH = 2  # depth of the queue `link`
_TILE_CYCLES = 4  # from the lookup of a tile that is a group of its own until it is processed
_MEMORY_CYCLES = 300  # more than this bench's memory needs to serve all its accesses


@cocotb.test()
async def aborts(dut):
    """Repeated aborts while tiles are counted and triggered leave no state: the next launches
    complete.
    """
    bench, rng = await start(dut), rng_of(14)
    kernel = Kernel(credit_window=6)
    traffic = Traffic(rng, bench.p, kernel, host_of(rng, bench, kernel), pace=1.0)
    for _ in range(scaled(6)):
        for _ in range(int(rng.integers(300, 900))):
            await bench.cycle(traffic)
        again = [(_CONTROL.address, _CONTROL.pack(abort=1))] * int(rng.integers(1, 4))
        traffic.begin(Host(rng, bench.p, again))
        for _ in range(100):
            await bench.cycle(traffic)
        kernel.generation = (kernel.generation + 1) % 16
        traffic.begin(host_of(rng, bench, kernel))
    await bench.finish(traffic)


@cocotb.test()
async def aborts_in_a_storm(dut):
    """Repeated aborts agree with the model while random events of few tiles are tracked."""
    bench, rng = await start(dut), rng_of(15)
    kernel = Kernel(credit_window=6)
    pending = []

    def strobe() -> tuple[int, int] | None:
        if not pending and rng.random() < 0.1:
            again = [(_CONTROL.address, _CONTROL.pack(abort=1))] * int(rng.integers(1, 4))
            generation = (int(bench.value(K.generation)) + 1) % 16
            word = _TRACKING.pack(generation=generation)
            launch = _CONTROL.address, _CONTROL.pack(launch=1)
            pending.extend([*again, (_TRACKING.address, word), launch])
        return pending.pop(0) if pending else None

    host = host_of(rng, bench, kernel, strobe=strobe)
    traffic = Storm(rng, bench.p, kernel, host, pace=1.0)
    for _ in range(scaled(1500)):
        await bench.cycle(traffic)


@cocotb.test()
async def one_of_two_aborted(dut):
    """An abort in the middle of a launch does not disturb the launch of the other context."""
    bench, rng = await start(dut), rng_of(42)

    first, second = kernels_of(bench.p)
    traffic = Traffic(rng, bench.p, first, Host(rng, bench.p, []), second, pace=0.8)
    for number in range(scaled(3)):
        for kernel in (first, second):
            kernel.generation = (kernel.generation + 1) % 16
        host = host_of(rng, bench, first, second)
        traffic.begin(host)
        while not host.programmed:
            await bench.cycle(traffic)
        for _ in range(int(rng.integers(50, 200))):
            await bench.cycle(traffic)
        traffic.withdraw(1, Host(rng, bench.p, [(_CONTROL.address_in(1), _CONTROL.pack(abort=1))]))
        await bench.finish(traffic)
        assert not bench.value(K.irq, 0), number
        for _ in range(100):  # until the abort has ended
            await bench.cycle(traffic)


class _Prompt:
    """Host that performs writes as soon as they are given, and otherwise reads STATUS of context 0.

    Attributes
    ----------
    writes : list of (int, int)
        Addresses and words to be written, one after the other.
    programmed : bool
        The writes of the program are done.
    status : dict of str to int
        Fields as last read.
    """

    def __init__(self, p: T3Parameters, writes: list[tuple[int, int]]):
        self._first_in, self._first_out = p.channels * CHANNEL_INPUTS, p.channels * CHANNEL_OUTPUTS
        self.writes = writes
        self.programmed, self.status = False, _STATUS.unpack(0)

    def __call__(self, outputs: np.ndarray, inputs: np.ndarray) -> None:
        bus_in, bus_out = inputs[self._first_in :], outputs[self._first_out :]
        free = bus_out[H.bus_awready] and bus_out[H.bus_wready]
        self.programmed |= not self.writes
        writes = bool(free and self.writes)
        bus_in[[G.bus_awvalid, G.bus_wvalid]] = writes
        if writes:
            bus_in[[G.bus_awaddr, G.bus_wdata]] = self.writes.pop(0)
        bus_in[G.bus_wstrb], bus_in[G.bus_awprot] = 15, 1
        bus_in[[G.bus_bready, G.bus_rready, G.bus_arvalid]] = 1
        bus_in[G.bus_araddr] = _STATUS.address
        if bus_out[H.bus_rvalid]:
            self.status = _STATUS.unpack(int(bus_out[H.bus_rdata]))


class _Witness:
    """Observer of the ports, in addition to the traffic.

    Attributes
    ----------
    cycle : int
    packets : list of (int, int, int, int)
        Packets that the link accepted: cycle, channel, context and slot.
    served : list of int
        Cycle in which the memory last accepted, acknowledged or returned an access of each context.
    """

    def __init__(self, p: T3Parameters, traffic: Traffic):
        self._p, self._traffic = p, traffic
        self.cycle, self.packets, self.served = 0, [], [0] * p.contexts

    def __call__(self, outputs: np.ndarray, inputs: np.ndarray) -> None:
        self._traffic(outputs, inputs)
        for channel in range(self._p.channels):
            given = inputs[channel * CHANNEL_INPUTS : (channel + 1) * CHANNEL_INPUTS]
            out = outputs[channel * CHANNEL_OUTPUTS : (channel + 1) * CHANNEL_OUTPUTS]
            self._look(channel, given, out)
        self.cycle += 1

    def _look(self, channel: int, given: np.ndarray, out: np.ndarray) -> None:
        if out[O.link_out_valid] and given[I.link_out_ready]:
            packet = int(out[O.link_owner]), int(out[O.link_out_slot])
            self.packets.append((self.cycle, channel, *packet))
        if out[O.dram_valid] and given[I.dram_ready] and _has_owner(out):
            self.served[int(out[O.dram_owner])] = self.cycle
        if given[I.issue_acks_valid] and out[O.issue_acks_ready]:
            self.served[int(given[I.issue_acks_owner])] = self.cycle
        if given[I.returns_valid]:
            self.served[int(given[I.returns_slot]) // self._p.egress_slots] = self.cycle

    def of(self, owner: int, since: int = 0) -> list[tuple[int, int]]:
        """Return channel and slot of a context's packets, from a cycle on."""
        return [
            (channel, slot)
            for cycle, channel, context, slot in self.packets
            if cycle >= since and context == owner
        ]


def _has_owner(out: np.ndarray) -> bool:
    """Return whether the offered access to the memory belongs to a context."""
    return (
        out[O.dram_origin] == Origin.COMMUNICATION.value
        or out[O.dram_access] == Access.UPDATE.value
    )


def _most_cycles(p: T3Parameters) -> int:
    """Return the bound on an abort after the memory's last access, including the read of STATUS."""
    walk = p.sets // p.banks + 3
    return p.credit_window + p.command_depth + 2 * walk + 4 + 16


async def _until_a_tile_is_triggered(bench: Bench, witness: _Witness) -> None:
    """Run up to the cycle in which the trigger unit looks up a tile of context 0 that it accepted
    while idle, neither among the first tiles nor among the last.
    """
    tiles, taken = 0, 0
    while not (bench.value(K.tiles) > tiles >= 5 and witness.cycle - taken > _TILE_CYCLES):
        if bench.value(K.tiles) > tiles:
            tiles, taken = bench.value(K.tiles), witness.cycle
        await bench.cycle(witness)
        assert witness.cycle < 2000


async def _until_it_is_over(bench: Bench, prompt: _Prompt, witness: _Witness) -> None:
    """Run until the abort of context 0, which has just begun, has ended."""
    begun, seen = witness.cycle, 0
    while prompt.status["aborting"] or not seen:
        await bench.cycle(witness)
        seen |= prompt.status["aborting"]
        assert witness.served[0] - begun <= _MEMORY_CYCLES
        assert witness.cycle - max(begun, witness.served[0]) <= _most_cycles(bench.p)


def _all_was_sent(
    bench: Bench, witness: _Witness, kernel: Kernel, *, since: int = 0, tiles: int = 0
) -> None:
    """Check that every tile of the kernel is complete, that packets of each tile outside this GPU's
    own chunk have left, and that no error occurred. ``tiles`` is the number of tiles complete
    before.
    """
    assert bench.value(K.tiles, kernel.number) == tiles + kernel.tracked_end - kernel.remote
    sent = {slot for _, slot in witness.of(kernel.number, since)}
    assert sent == {kernel.slot(dispatch_index) for dispatch_index in range(kernel.own)}
    assert not bench.value(K.irq, kernel.number)


@cocotb.test()
@cocotb.parametrize(later=[0, 1, 9], closed=["", "link"])
async def abort_of_a_triggered_tile(dut, later, closed):
    """Aborts are clean while a tile's group is counted, its command is written, or the command
    runs.

    The abort ends in a bounded time even if the link accepts nothing, no packet leaves besides
    those already offered to the link, and no state remains for the next launch. The other context's
    launch is not affected.
    """
    bench, rng = await start(dut), rng_of(43)
    p, (first, second) = bench.p, kernels_of(bench.p)
    prompt = _Prompt(p, [*first.program(p), *second.program(p)])
    traffic = Gated(rng, p, first, prompt, second, pace=0.8)
    witness = _Witness(p, traffic)
    await _until_a_tile_is_triggered(bench, witness)
    for _ in range(later):
        await bench.cycle(witness)
    traffic.closed = closed
    prompt.writes.append((_CONTROL.address, _CONTROL.pack(abort=1)))
    for _ in range(2):  # the write is accepted, and acts
        await bench.cycle(witness)
    unit, lost = bench.state.contexts[0]["trigger"], set()
    if later < 2:
        assert unit["state"] == GROUP + later
        lost = {first.slot(int(unit["completion"]["dispatch_index"]))}
    await bench.cycle(witness)  # the strobe
    begun, tiles = witness.cycle, bench.value(K.tiles)
    assert bench.value(K.aborted) and not bench.value(K.done)
    await _until_it_is_over(bench, prompt, witness)
    assert bench.value(K.credit_limit_out) == 0
    served, traffic.closed = witness.served[0], ""
    await bench.finish(witness, 1)
    _all_was_sent(bench, witness, second)
    for channel in range(p.channels):
        assert sum(packet[0] == channel for packet in witness.of(0, begun)) <= _LINK_DEPTH
    assert not lost & {slot for _, slot in witness.of(0)}
    assert bench.value(K.tiles) == tiles
    assert witness.served[0] == served

    first.generation += 1
    begun, writes = witness.cycle, [(_CONTROL.address, _CONTROL.pack(clear_error=1))]
    traffic.begin(Host(rng, p, [*writes, *first.program(p)]))
    await bench.finish(witness, 0)
    _all_was_sent(bench, witness, first, since=begun, tiles=tiles)
