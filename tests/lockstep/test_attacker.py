"""A tenant and its neighbours attack another tenant, in lockstep of golden model and RTL.

The invariants need no model: nothing leaves a context's regions and address space, the other
tenant's launch ends with all its updates, within its window, and with no error but those of packets
that its inbound filter or its regions reject.
"""

import numpy as np
import pytest

from rtl.interface.encodings import Access, ErrorCode, Origin
from rtl.registers import map as register_map
from rtl.registers.map import CONTEXT
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    CONTEXT_INPUTS,
    CONTEXT_OUTPUTS,
    G,
    H,
    I,
    J,
    K,
    O,
)
from tb.top.host import Host, Reprogramming
from tb.top.traffic import Traffic
from tests.support.lockstep_contexts import P, kernels
from tests.support.lockstep_recording import record, replay

MAP = register_map.load()
VICTIM, ATTACKER = 0, 1
TRUSTED = 0b0011  # GPUs whose packets the victim accepts
CYCLES = 8000


class Operations:
    """Writes of the attacker: launches, aborts and tables of its own, and any value to any register
    of its page and of the GPU's."""

    def __init__(self, rng, kernel):
        self._rng, self._sensible = rng, Reprogramming(rng, P, kernel)
        self._addresses = [register.address_in(ATTACKER) for register in MAP.values()]

    def __call__(self):
        if self._rng.random() < 0.6:
            return self._sensible()
        address = self._addresses[self._rng.integers(0, len(self._addresses))]
        return address, int(self._rng.integers(0, 1 << 32))


class Attack(Traffic):
    """Two launches, one of which is the attacker's.

    Parameters
    ----------
    flood : float
        Probability, per channel and cycle, that the attacker takes a free port with a forged store
        or packet.
    """

    def __init__(self, rng, flood):
        programs = kernels(P)
        writes = [word for kernel in programs for word in kernel.program(P)]
        trusted = MAP["INBOUND_STORES"], MAP["INBOUND_UPDATES"]
        writes = [(one.address_in(VICTIM), TRUSTED) for one in trusted] + writes
        host = Host(rng, P, writes, Operations(rng, programs[ATTACKER]))
        super().__init__(rng, P, programs[VICTIM], host, programs[ATTACKER])
        self.victim, self._attacker = programs
        self._flood = flood
        tracked = [
            tile
            for tile in self._works[VICTIM].local
            if tile["dispatch_index"] >= self.victim.remote
        ]
        self.tiles = sum("end" in tile for tile in tracked)
        self.updates = 2 * sum("end" not in tile for tile in tracked)

    def __call__(self, outputs, inputs):
        super().__call__(outputs, inputs)
        programmed = self._host.programmed
        inputs[P.channels * CHANNEL_INPUTS + G.bus_awprot] = not programmed
        for number in range(P.channels):
            block = inputs[number * CHANNEL_INPUTS : (number + 1) * CHANNEL_INPUTS]
            if block[I.link_in_context] == self.victim.context:
                block[I.link_in_source] %= 2
            if programmed:
                self._forge(block, "stores")
                self._forge(block, "link_in")
        if programmed:
            first = P.channels * CHANNEL_INPUTS + ATTACKER * CONTEXT_INPUTS
            self._mislead(inputs[first:])

    def _forge(self, block, port):
        """Take a port that the victim does not use."""
        rng, is_packet = self._rng, port == "link_in"
        used = block[getattr(I, f"{port}_valid")]
        if (used and block[getattr(I, f"{port}_context")] == self.victim.context) or (
            rng.random() >= self._flood
        ):
            return
        spaces = [one for one in range(1 << P.context_bits) if one != self.victim.context]
        values = {
            "valid": 1,
            "kind": rng.integers(0, 2),
            "context": self._attacker.context if rng.random() < 0.7 else rng.choice(spaces),
            "workgroup": rng.integers(0, 1 << P.workgroup_bits),
            "wavefront": rng.integers(0, P.wavefronts),
            "generation": rng.integers(0, 16),
            "atom": rng.integers(self.victim.base, self._attacker.limit),
        }
        if is_packet:
            values |= {"source": rng.integers(0, 32), "op": rng.integers(0, 3)}
            values |= {"dtype": rng.integers(0, 3)}
            if rng.random() < 0.1:  # in the victim's name, by a GPU that the victim does not accept
                values |= {"context": self.victim.context, "source": rng.integers(2, 32)}
        else:
            values["tile_atoms"] = rng.integers(0, 8)
        for name, value in values.items():
            block[getattr(I, f"{port}_{name}")] = value

    def _mislead(self, given):
        """Give the attacker's context any progress of its neighbour and of its kernel."""
        rng = self._rng
        given[J.credit_limit_in] = rng.integers(0, 1 << P.credit_limit_bits)
        given[[J.generation_in, J.kernel_generation]] = rng.integers(0, 16, 2)
        given[[J.dispatched, J.finished]] = rng.integers(0, 1 << P.credit_limit_bits, 2)
        given[J.aborted_in] = rng.integers(0, 256)


def check_confinement(recording, programs):
    """Require that T3 accesses memory in the regions of the owner, and sends to its space."""
    for number in range(P.channels):
        block = recording.outputs[:-1, number * CHANNEL_OUTPUTS : (number + 1) * CHANNEL_OUTPUTS]
        access, atom, owner = (
            block[:, getattr(O, f"dram_{name}")] for name in ("access", "atom", "owner")
        )
        of_t3 = (access == Access.UPDATE.value) | (
            block[:, O.dram_origin] == Origin.COMMUNICATION.value
        )
        for program in programs:
            own = (block[:, O.dram_valid] == 1) & of_t3 & (owner == program.number)
            assert ((atom >= program.base) & (atom < program.limit))[own].all(), program.number
            sent = (block[:, O.link_out_valid] == 1) & (block[:, O.link_owner] == program.number)
            assert (block[:, O.link_out_context] == program.context)[sent].all(), program.number
            # The attacker may abort its launch before it sends anything.
            assert program.number == ATTACKER or (own.any() and sent.any())


def check_admission(recording, victim):
    """Require that no workgroup of the victim that is tracked here is dispatched beyond its own
    window."""
    shown = recording.outputs[:, P.channels * CHANNEL_OUTPUTS + VICTIM * CONTEXT_OUTPUTS :]
    admitted, dispatched = shown[:-1, K.credit_limit_out], shown[1:, K.dispatch_limit]
    assert (dispatched <= np.maximum(admitted, victim.remote)).all()
    assert dispatched.max() > victim.remote


def check_victim(recording, traffic):
    """Require that the victim's launch ended with every tile and every update, and that it saw no
    error but of packets that it rejects."""
    shown = recording.outputs[-1, P.channels * CHANNEL_OUTPUTS :][VICTIM * CONTEXT_OUTPUTS :]
    assert shown[K.done] and shown[K.tiles] == traffic.tiles
    updates = 0
    for number in range(P.channels):
        given = recording.inputs[:, number * CHANNEL_INPUTS : (number + 1) * CHANNEL_INPUTS]
        block = recording.outputs[:-1, number * CHANNEL_OUTPUTS : (number + 1) * CHANNEL_OUTPUTS]
        issued = (given[:, I.dram_ready] == 1) & (block[:, O.dram_valid] == 1)
        issued &= block[:, O.dram_access] == Access.UPDATE.value
        updates += int((issued & (block[:, O.dram_owner] == VICTIM)).sum())
    assert updates == traffic.updates
    page = recording.state.registers[CONTEXT + VICTIM]
    counts = {
        code.name: int(page[register.offset // 4]["contents"])
        for code in ErrorCode
        if (register := MAP.get(f"COUNT_{code.name}")) is not None and register.page == CONTEXT
    }
    rejected = counts.pop("PACKET_FORBIDDEN") + counts.pop("PACKET_UNMAPPED")
    assert not any(counts.values()), counts
    return rejected


def run(seed, flood):
    """Run an attack in lockstep; return how many writes of the attacker were answered."""
    print(f"seed {seed}")
    traffic = Attack(np.random.default_rng(seed), flood)
    recording = record(P, traffic, CYCLES)
    check_confinement(recording, kernels(P))
    check_admission(recording, traffic.victim)
    assert check_victim(recording, traffic)
    replay(recording)
    gpu_in = recording.inputs[:, P.channels * CHANNEL_INPUTS :]
    gpu_out = recording.outputs[:-1, P.channels * CHANNEL_OUTPUTS :]
    return int((gpu_out[:, H.bus_bvalid] & gpu_in[:, G.bus_bready]).sum())


@pytest.mark.parametrize("flood", [0.2, 1.0])
def test_attack(flood):
    assert run(7, flood) > 1000


@pytest.mark.verify
def test_two_hundred_thousand_operations():
    operations, seed = 0, 2000
    while operations < 200_000:
        operations += run(seed, (0.1, 0.4, 1.0)[seed % 3])
        seed += 1
    print(operations, "operations")
