"""Lockstep under random register operations on two active contexts.

No context hangs, and afterwards both contexts launch as after a reset.
"""

from dataclasses import replace

import numpy as np
import pytest

from rtl.registers import map as register_map
from rtl.registers.map import CONTEXT
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, CONTEXT_OUTPUTS, G, H, K
from tb.top.host import Host
from tb.top.reprogramming import Reprogramming
from tb.top.traffic import Traffic
from tests.support.lockstep_contexts import P, kernels
from tests.support.lockstep_recording import record, replay

MAP = register_map.load()
# Cycles after which an abort has ended at this size, and after which both launches have.
ABORT_CYCLES, LAUNCH_CYCLES = 3000, 8000


class Operations:
    """Return writes of any value to any register of any page; some are meaningful."""

    def __init__(self, rng, p, programs):
        self._rng, self._p = rng, p
        self._sources = [Reprogramming(rng, p, kernel) for kernel in programs]
        self._writes = [word for kernel in programs for word in kernel.program(p)]

    def __call__(self):
        rng = self._rng
        kind = rng.random()
        if kind < 0.5:
            return self._sources[rng.integers(0, len(self._sources))]()
        if kind < 0.8:
            return self._writes[rng.integers(0, len(self._writes))]
        register = list(MAP.values())[rng.integers(0, len(MAP))]
        address = register.address_in(int(rng.integers(0, self._p.contexts + 1)))
        if kind > 0.97:
            address ^= 1 << int(rng.integers(0, 16))
        return address, int(rng.integers(0, 1 << 32))


def recovery(p, programs):
    """Return privileged writes that abort everything and restore the state after reset."""
    # An armed injection would damage a word that the recovery clears.
    writes = [(MAP[name].address, MAP[name].pack()) for name in ("GPU_LOCK", "INJECT")]

    def put(context, name, **fields):
        writes.append((MAP[name].address_in(context), MAP[name].pack(**fields)))

    for context in range(p.contexts):
        put(context, "LOCK")
        put(context, "CONTROL", abort=1)
    begin = len(writes)
    for context in range(p.contexts):
        for name in ("ADDRESS_SPACE", "INBOUND_KINDS", "INTERRUPT_ENABLE"):
            put(context, name)
        # Staged values also count for a removal.
        for name in ("REGION_BASE_HI", "REGION_LIMIT_HI", "RANGE_ACTION", "RANGE_PEERS"):
            put(context, name)
        for table, count in (("RANGE", p.ranges), ("REGION", p.regions)):
            for index in range(count):
                put(context, f"{table}_COMMIT", index=index, enable=0)
    while len(writes) - begin < ABORT_CYCLES // 3:
        put(0, "TIMEOUT", ticks=0)
    for context in range(p.contexts):
        # Idle now, so it may lose ways and peers.
        put(context, "WAYS", mask=p.way_share(context))
        for index in range(p.peers):
            put(context, "PEER_COMMIT", index=index, enable=0)
        put(context, "CONTROL", clear_error=1)
        put(context, "INTERRUPTS", **{field.name: 1 for field in MAP["INTERRUPTS"].fields})
    writes.append((MAP["GPU_CONTROL"].address, MAP["GPU_CONTROL"].pack(clear_error=1)))
    return [*writes, *(word for kernel in programs for word in kernel.program(p))]


class Session(Traffic):
    """Random operations for some cycles, then the recovery, then two launches alone."""

    def __init__(self, rng, p, programs, cycles):
        writes = [word for kernel in programs for word in kernel.program(p)]
        host = Host(rng, p, writes, Operations(rng, p, programs))
        super().__init__(rng, p, programs[0], host, *programs[1:], noise=0.05)
        self._left, self._recovers = cycles, False

    def __call__(self, outputs, inputs):
        self._left -= 1
        if self._left <= 0 and not self._recovers and self._host.is_between:
            self._recovers = True
            self._noise = 0.0
            # A new generation distinguishes the launches from late packets of earlier ones.
            self._kernels = [
                replace(kernel, generation=(self._generation(outputs, number) + 6) % 16)
                for number, kernel in enumerate(self._kernels)
            ]
            self.begin(Host(self._rng, self._p, recovery(self._p, self._kernels)))
        super().__call__(outputs, inputs)
        programs = self._recovers or not self._host.programmed
        prot = 1 if programs else self._rng.integers(0, 8)
        inputs[self._p.channels * CHANNEL_INPUTS + G.bus_awprot] = prot

    def _generation(self, outputs, context):
        first = self._p.channels * CHANNEL_OUTPUTS + context * CONTEXT_OUTPUTS
        return int(outputs[first + K.generation])


def run(seed, cycles):
    """Run a session in lockstep; return how many operations were answered."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    programs = kernels(P)
    total = cycles + 3 * ABORT_CYCLES + LAUNCH_CYCLES
    recording = record(P, Session(rng, P, programs, cycles), total)
    last = recording.outputs[-1]
    for context in range(P.contexts):
        shown = last[P.channels * CHANNEL_OUTPUTS + context * CONTEXT_OUTPUTS :]
        log = recording.state.logs[CONTEXT + context]
        assert not log["log_level"], (context, int(log["errors"][log["log_head"]]) & 0xFF)
        assert shown[K.done] and not shown[K.irq], context
    bus_in = recording.inputs[:, P.channels * CHANNEL_INPUTS :]
    bus_out = recording.outputs[:-1, P.channels * CHANNEL_OUTPUTS :]
    answered = bus_out[:, [H.bus_bvalid, H.bus_rvalid]] & bus_in[:, [G.bus_bready, G.bus_rready]]
    replay(recording)
    return int(answered[:cycles].sum())


def test_thousand_operations():
    operations = run(1, 4000)
    print(operations, "operations")
    assert operations > 1000


@pytest.mark.verify
def test_two_hundred_thousand_operations():
    operations, seed = 0, 1000
    while operations < 200_000:
        operations += run(seed, 20_000)
        seed += 1
    print(operations, "operations")
