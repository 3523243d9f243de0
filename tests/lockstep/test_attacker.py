"""A tenant and its neighbours attack another tenant, with resets in mid-run, in lockstep of golden
model and RTL.

The invariants need no model: nothing leaves a context's regions and address space; after a reset
nothing leaves at all until a launch that had to wait for the memory; the other tenant's last launch
ends with all its updates, within its window, and with no error but those of packets that it has to
reject, each of which is counted.
"""

from collections import Counter

import numpy as np
import pytest

from rtl.interface.encodings import Access, ErrorCode, Origin
from rtl.registers import map as register_map
from rtl.registers.map import CONTEXT
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    CONTEXT_OUTPUTS,
    G,
    H,
    I,
    K,
    O,
)
from tests.support.attack import ATTACKER, VICTIM, Attack, generation_of
from tests.support.lockstep_contexts import P, kernels
from tests.support.lockstep_recording import record, replay

MAP = register_map.load()
LAST_CYCLES = 8000  # of the session after the last reset
QUIET_CYCLES = 200  # in which every packet that is queued is rejected
NO_EPOCH = 256


def channels_of(recording, cycles):
    """Yield inputs and outputs of each channel in these cycles."""
    for number in range(P.channels):
        yield (
            recording.inputs[cycles, number * CHANNEL_INPUTS : (number + 1) * CHANNEL_INPUTS],
            recording.outputs[:-1][
                cycles, number * CHANNEL_OUTPUTS : (number + 1) * CHANNEL_OUTPUTS
            ],
        )


def context_of(recording, number):
    """Return the outputs of a context in each cycle."""
    first = P.channels * CHANNEL_OUTPUTS + number * CONTEXT_OUTPUTS
    return recording.outputs[:, first:]


def of_t3(block):
    """Return the cycles in which a channel offers an access of T3 to the memory."""
    update = block[:, O.dram_access] == Access.UPDATE.value
    communication = block[:, O.dram_origin] == Origin.COMMUNICATION.value
    return (block[:, O.dram_valid] == 1) & (update | communication)


def is_addressed(packets, program):
    """Return the packets that go to a receiver of the owner, and carry the owner's rank."""
    peers = program.peers.values()
    receivers = {(peer.gpu, peer.space) for peer in peers if peer.sends_updates}
    fields = packets[:, O.link_out_destination], packets[:, O.link_out_context]
    reaches = np.array([one in receivers for one in zip(*fields, strict=True)], bool)
    return reaches & (packets[:, O.link_out_source] == program.rank)


def check_confinement(recording, programs):
    """Require that T3 accesses memory in the regions of the owner, and sends to its receivers."""
    for _, block in channels_of(recording, slice(None)):
        atom, owner = block[:, O.dram_atom], block[:, O.dram_owner]
        for program in programs:
            own = of_t3(block) & (owner == program.number)
            assert ((atom >= program.base) & (atom < program.limit))[own].all(), program.number
            sent = (block[:, O.link_out_valid] == 1) & (block[:, O.link_owner] == program.number)
            assert is_addressed(block[sent], program).all(), program.number
            # The attacker may abort its launch before it sends anything.
            assert program.number == ATTACKER or (own.any() and sent.any())


def check_admission(recording, victim):
    """Require that no workgroup of the victim that is tracked here is dispatched beyond its own
    window."""
    shown = context_of(recording, VICTIM)
    for session in recording.sessions:
        admitted = shown[session, K.credit_limit_out]
        # Beyond the last workgroup nothing is dispatched.
        dispatched = np.minimum(shown[1:][session, K.dispatch_limit], victim.workgroups)
        assert (dispatched <= np.maximum(admitted, victim.remote))[:-1].all()
    assert dispatched.max() > victim.remote


def check_resets(recording):
    """Require that a session's first launch waits until the memory owes nothing, and that nothing
    leaves before it."""
    generations = context_of(recording, VICTIM)[:-1, K.generation]
    for number, session in enumerate(recording.sessions):
        launched = generations[session] == generation_of(number)
        end = int(launched.argmax()) if launched.any() else len(launched)
        assert not generations[session][:end].any()
        for given, block in channels_of(recording, session):
            assert not of_t3(block[:end]).any()
            assert not block[:end, O.link_out_valid].any()
            assert end == len(launched) or not given[:end, I.memory_owes].all()


def check_victim(recording, traffic):
    """Require that the victim's last launch ended with every tile and every update, and that it
    counted the packets that it had to reject, and no other error."""
    shown = context_of(recording, VICTIM)[-1]
    assert shown[K.done] and shown[K.tiles] == traffic.tiles
    updates = 0
    for given, block in channels_of(recording, recording.sessions[-1]):
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
    names = ("PACKET_FORBIDDEN", "PACKET_UNMAPPED", "PACKET_STALE")
    rejected = [counts.pop(name) for name in names]
    assert not any(counts.values()), counts
    # A count is of cycles, in which each channel may reject a packet. Packets that arrive before
    # the context has its address space are counted by the GPU.
    since_reset, since_launch = traffic.lost
    assert since_launch.max() <= sum(rejected) <= since_reset.sum()
    assert all(rejected[: 3 if recording.resets else 2])


def check_storm(recording):
    """Require that the attacker used all its epochs, and could not launch then."""
    page = recording.state.registers[CONTEXT + ATTACKER]
    assert page[MAP["EPOCHS"].offset // 4]["contents"] == NO_EPOCH


def wraps_of(recording):
    """Count how often a launch of a context had a smaller generation than the one before."""
    wraps = 0
    for number in (VICTIM, ATTACKER):
        generations = context_of(recording, number)[:, K.generation].astype(int)
        wraps += sum(int((np.diff(generations[one]) < 0).sum()) for one in recording.sessions)
    return wraps


def run(seed, flood, resets=(), *, storm=False):
    """Run an attack in lockstep; return the numbers of answered writes of the attacker, resets,
    generations that wrapped, and so on."""
    print(f"seed {seed}")
    cycles = LAST_CYCLES + max(resets, default=0)
    rng = np.random.default_rng(seed)
    traffic = Attack(rng, flood, resets, storm=storm, quiet=cycles - QUIET_CYCLES)
    recording = record(P, traffic, cycles, resets)
    check_confinement(recording, kernels(P))
    check_admission(recording, traffic.victim)
    check_resets(recording)
    check_victim(recording, traffic)
    if storm:
        check_storm(recording)
    replay(recording)
    gpu_in = recording.inputs[:, P.channels * CHANNEL_INPUTS :]
    gpu_out = recording.outputs[:-1, P.channels * CHANNEL_OUTPUTS :]
    answered = gpu_out[:, H.bus_bvalid] & gpu_in[:, G.bus_bready]
    return Counter(
        operations=int((answered & (gpu_in[:, G.bus_awprot] == 0)).sum()),
        resets=len(resets),
        owing=sum(owed > 0 for owed in traffic.owed),
        owed=sum(traffic.owed),
        lost=int(traffic.lost[0].sum()),
        wraps=wraps_of(recording),
    )


def test_attack():
    counts = run(7, 1.0, (700, 730, 1500))
    assert counts["operations"] > 1000 and counts["owing"] == 3


def test_storm_of_launches():
    """The attacker's generations wrap, and its epochs come to their end, which a reset renews."""
    counts = run(8, 0.3, (3500,), storm=True)
    assert counts["operations"] > 1000 and counts["wraps"] > 20


@pytest.mark.verify
def test_two_hundred_thousand_operations():
    counts, seed = Counter(), 2000
    while counts["operations"] < 200_000:
        rng = np.random.default_rng(seed)
        resets = sorted(set(rng.integers(100, 5000, seed % 5).tolist()))
        counts += run(seed, (0.1, 0.4, 1.0)[seed % 3], resets, storm=seed % 4 == 0)
        seed += 1
    print(dict(counts))
    assert counts["owing"] > counts["resets"] // 2 and counts["wraps"] > 1000
