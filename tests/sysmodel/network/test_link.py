import numpy as np
import pytest

from rtl.interface.encodings import PacketKind
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, I, O
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.lib.compiled import cached_njit
from sysmodel.network.link import (
    admitted,
    can_send,
    deliver,
    first_channel,
    offer_credit,
    send,
    send_admission,
)
from sysmodel.network.mirror import EVEN
from tests.support.small_kernel import bare_state, channel_by_hand, small_kernel
from tests.support.small_network import in_ring, join, sent_slots

NEVER = 1 << 40


@cached_njit()
def _drive(s, cycles, offer_from, ready_from, sent, taken, errors):
    """Run a ring of one GPU.

    Every channel offers atoms 0, 1, 2... from cycle ``offer_from`` on, and takes arrivals from
    ``ready_from`` on. Returns cycles by channel and atom, and packets out of order.
    """
    f, gpu = s.fixed[0], s.gpu[0]
    inputs, outputs = s.inputs[0], s.outputs[0]
    sends, takes = np.zeros(f.channels, np.int64), np.zeros(f.channels, np.int64)
    for now in range(cycles):
        offer_credit(s, gpu)
        turn = first_channel(s, 0, 0, now)
        for i in range(f.channels):
            c = (turn + i) % f.channels
            given = inputs[c * CHANNEL_INPUTS : (c + 1) * CHANNEL_INPUTS]
            offered = outputs[c * CHANNEL_OUTPUTS : (c + 1) * CHANNEL_OUTPUTS]
            channel = s.channel[c]
            ready = now >= ready_from
            deliver(s, channel, now, given, ready)
            if ready and given[I.link_in_valid]:
                if given[I.link_in_atom] != takes[c]:
                    errors[0] += 1
                taken[c, takes[c]] = now
                takes[c] += 1
            offered[O.link_out_atom] = sends[c]
            if can_send(s, 0, c, channel, offered) and now >= offer_from:
                send(s, 0, c, now, offered)
                sent[c, sends[c]] = now
                sends[c] += 1


class Link:
    """A link, and in which cycle each atom was sent and taken, by channel."""

    def __init__(self, *, rate=32.0, latency=10, buffer=64, channels=1, stall=0.0, seed=0):
        self.state, _ = bare_state(small_kernel(), channels=channels)
        self.state = join(
            self.state, rate=rate, latency=latency, buffer=buffer, stall_share=stall, seed=seed
        )

    def drive(self, cycles, *, offer_from=0, ready_from=0):
        channels = len(self.state.channel)
        sent, taken = np.full((2, channels, cycles + 1), -1, np.int64)
        errors = np.zeros(1, np.int64)
        _drive(self.state, cycles, offer_from, ready_from, sent, taken, errors)
        assert errors[0] == 0
        self.sent = [row[row >= 0] for row in sent]
        self.taken = [row[row >= 0] for row in taken]
        return self


@pytest.mark.parametrize(("channels", "rate"), [(16, 2.5), (256, 24.0), (8, 0.75)])
def test_channels_send_in_turn(channels, rate):
    """Channels that always offer a packet send at equal intervals of channels ÷ rate cycles."""
    link = Link(rate=32 * rate, channels=channels, buffer=64).drive(500)
    for sent in link.sent:
        between = np.diff(sent)
        assert channels / rate - 1 < between.min() <= between.max() < channels / rate + 1


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("rate", [4.6875, 150 / 7, 31.9])
def test_rate_is_exact_over_a_long_run(rate, channels):
    cycles = 100_000
    link = Link(rate=rate, channels=channels, buffer=256).drive(cycles)
    sent = int(link.state.gpu["link_bytes"][0].sum())
    assert sent == sum(len(one) for one in link.sent) * ATOM_BYTES
    assert 0 <= rate * cycles - sent < rate + ATOM_BYTES * channels
    shares = [len(one) for one in link.sent]
    assert max(shares) - min(shares) <= 0.01 * max(shares)


def test_rate_of_every_stretch_of_time():
    rate = 9.3
    (sent,) = Link(rate=rate).drive(3000).sent
    for atoms in (2, 10, 100):
        took = sent[atoms:] - sent[:-atoms]
        assert (abs(took * rate / ATOM_BYTES - atoms) <= 1).all()


def test_no_more_than_one_packet_per_channel_and_cycle():
    (sent,) = Link(rate=100.0, latency=3).drive(500).sent
    assert np.array_equal(sent, np.arange(500))


def test_an_idle_link_saves_up_nothing():
    (sent,) = Link(rate=8.0).drive(2000, offer_from=1000).sent
    # At most the credit of one packet, and the cycle's own share.
    assert sent[0] == 1000
    assert sent[2] >= 1000 + 2 * 32 // 8 - 2
    assert len(sent) <= 1000 * 8 / 32 + 2


@pytest.mark.parametrize("latency", [1, 2, 500])
def test_packet_arrives_after_the_latency_and_not_before(latency):
    link = Link(latency=latency).drive(1000)
    for sent, taken in zip(link.sent, link.taken, strict=True):
        assert len(taken) == 1000 - latency
        assert np.array_equal(taken, sent[: len(taken)] + latency)


def test_first_send_is_noted_once():
    link = Link().drive(200, offer_from=77)
    assert link.state.gpu["first_send"][0] == 77
    assert Link().drive(50, offer_from=NEVER).state.gpu["first_send"][0] == -1


def test_full_receiver_holds_the_sender_back_and_loses_nothing():
    rate, latency, buffer = 16.0, 20, 5
    link = Link(rate=rate, latency=latency, buffer=buffer).drive(1000, ready_from=600)
    (sent,), (taken,) = link.sent, link.taken
    capacity = int(rate / ATOM_BYTES * latency) + 1 + buffer
    assert (sent < 600).sum() == capacity
    assert sent[capacity] == 600
    # Waiting packets leave one a cycle, then the link's rate holds again.
    assert np.array_equal(taken[:capacity], 600 + np.arange(capacity))
    assert len(taken) > capacity + 100


def test_credits_keep_the_rate_over_the_latency():
    rate, latency = 25.0, 700
    (taken,) = Link(rate=rate, latency=latency, buffer=1).drive(20_000).taken
    assert len(taken) == pytest.approx((20_000 - latency) * rate / ATOM_BYTES, rel=0.003)


def test_stalls_have_the_share_asked_for_and_follow_the_seed():
    def sends(share, seed):
        (sent,) = Link(rate=64.0, latency=1, stall=share, seed=seed).drive(20_000).sent
        return sent

    assert len(sends(0.0, 1)) == 20_000
    for share in (0.1, 0.5):
        assert len(sends(share, 1)) == pytest.approx(20_000 * (1 - share), rel=0.03)
    assert np.array_equal(sends(0.5, 1), sends(0.5, 1))
    assert len(sends(0.5, 1)) != len(sends(0.5, 2)) or (sends(0.5, 1) != sends(0.5, 2)).any()


def test_channels_stall_at_different_times():
    first, second = Link(rate=64.0, latency=1, stall=0.5, channels=2).drive(1000).sent
    assert set(first) != set(second)


@cached_njit()
def _receiver(s, g, c):
    """Return the place of a packet of GPU ``g`` after it was sent."""
    outputs = s.outputs[0]
    before = s.channel["packet_count"].copy()
    send(s, g, c, 0, outputs)
    return np.nonzero(s.channel["packet_count"] - before)[0][0]


def test_every_gpu_sends_downstream():
    state, _ = bare_state(small_kernel(), gpus=3, channels=2)
    state = join(state)
    for g in range(3):
        for c in range(2):
            assert _receiver(state, g, c) == (g - 1) % 3 * 2 + c


@cached_njit()
def _pass(s, c, values, arrived):
    """Send one packet with these values on channel ``c``, and take it."""
    inputs = s.inputs[0, c * CHANNEL_INPUTS : (c + 1) * CHANNEL_INPUTS]
    outputs = s.outputs[0, c * CHANNEL_OUTPUTS : (c + 1) * CHANNEL_OUTPUTS]
    outputs[O.link_out_kind] = values[0]
    outputs[O.link_out_slot] = values[1]
    outputs[O.link_out_atom] = values[2]
    outputs[O.link_out_wavefront] = values[3]
    outputs[O.link_out_context] = values[4]
    outputs[O.link_out_op] = values[5]
    outputs[O.link_out_dtype] = values[6]
    for word in range(4):
        outputs[O.link_out_data_0 + word] = values[7 + word]
    send(s, 0, c, 0, outputs)
    deliver(s, s.channel[c], s.link[0].latency, inputs, True)
    arrived[0] = inputs[I.link_in_kind]
    arrived[1] = inputs[I.link_in_slot]
    arrived[2] = inputs[I.link_in_atom]
    arrived[3] = inputs[I.link_in_wavefront]
    arrived[4] = inputs[I.link_in_context]
    arrived[5] = inputs[I.link_in_op]
    arrived[6] = inputs[I.link_in_dtype]
    for word in range(4):
        arrived[7 + word] = inputs[I.link_in_data_0 + word]


def passed(state, c, kind, slot, atom, *others):
    values = np.zeros(11, np.uint64)
    values[: 3 + len(others)] = [kind.value, slot, atom, *others]
    arrived = np.zeros(11, np.uint64)
    _pass(state, c, values, arrived)
    return arrived.tolist()


def test_packet_arrives_as_it_was_sent():
    link = Link(latency=3)
    values = [PacketKind.UPDATE, 9, 1234, 3, 2, 1, 2]
    data = [0x1111, 1 << 63, 0x3333, 0x4444]
    assert passed(link.state, 0, *values, *data)[3:7] == values[3:]
    assert passed(link.state, 0, *values)[:3] == [1, 9, 1234]
    link.state.fixed["with_data"] = 1
    assert passed(link.state, 0, *values, *data)[7:] == data


def mirrored(kernel, channels, channel_bits):
    state, output_atoms = bare_state(kernel, channels=channels, channel_bits=channel_bits)
    state = in_ring(join(state, mirror=EVEN), kernel)
    return state, output_atoms


def test_mirrored_update_is_at_the_same_slot_one_chunk_on():
    kernel = small_kernel(gpus=4)
    state, output_atoms = mirrored(kernel, 1, 0)
    first = kernel.walk.first
    for slot, w, other in sent_slots(kernel):
        for atom in output_atoms.atom[output_atoms.start[w] : output_atoms.start[w + 1]]:
            _, same, there = passed(state, 0, PacketKind.UPDATE, slot, atom)[:3]
            assert same == slot
            assert there - first[other] == atom - first[w]


# Strides that the hash spreads alike in every chunk, as a machine requires of a mirror.
@pytest.mark.parametrize("channels,channel_bits", [(2, 1), (4, 2), (2, 2)])
def test_mirrored_update_stays_in_its_channel(channels, channel_bits):
    kernel = small_kernel(m=64 * 16, n=16, gpus=2)
    state, output_atoms = mirrored(kernel, channels, channel_bits)
    for slot, w, other in sent_slots(kernel):
        here, there = output_atoms.start[w], output_atoms.start[other]
        count = output_atoms.start[w + 1] - here
        for c in range(channels):
            mine = output_atoms.atom[here : here + count][
                output_atoms.channel[here : here + count] == c
            ]
            others = output_atoms.atom[there : there + count]
            others = others[output_atoms.channel[there : there + count] == c]
            assert len(mine) == len(others) > 0
            for atom, expected in zip(mine, others, strict=True):
                _, same, found = passed(state, c, PacketKind.UPDATE, slot, atom)[:3]
                assert (same, found) == (slot, expected)
                assert channel_by_hand(found, channel_bits) == c


@pytest.mark.parametrize("channels,channel_bits", [(1, 0), (2, 2)])
@pytest.mark.parametrize("offset", [0, 1 << 30])
def test_mirrored_copy_is_at_the_same_dispatch_index_of_the_chunk(channels, channel_bits, offset):
    kernel = small_kernel(m=64 * 16, n=16, gpus=4)
    state, _ = mirrored(kernel, channels, channel_bits)
    state.fixed["copy_from"], state.fixed["copy_to"], state.fixed["copy_offset"] = 3, 1, offset
    for c in range(channels):
        start = state.chunk_start[c]
        sent = state.chunk_atom[c, start[3] : start[4]]
        expected = state.chunk_atom[c, start[1] : start[2]]
        found = [passed(state, c, PacketKind.STORE, 0, atom + offset)[2] for atom in sent]
        assert np.array_equal(found, expected + offset)


@pytest.mark.parametrize("rate,latency", [(32.0, 20_000), (0.5, 50_000), (32.0, 1)])
def test_wire_is_as_long_as_rate_times_latency(rate, latency):
    """No packet waits for a place on the wire, however long it is, and each takes the latency."""
    link = Link(rate=rate, latency=latency, buffer=8).drive(3 * latency)
    (sent,), (taken,) = link.sent, link.taken
    assert np.array_equal(taken, sent[: len(taken)] + latency)
    assert abs(len(sent) - 3 * latency * rate / ATOM_BYTES) <= 1


@cached_njit()
def _admissions(s, known):
    """Admit one workgroup more in every cycle; ``known`` receives the upstream GPU's limit."""
    for now in range(len(known)):
        send_admission(s, s.context[0, 0], now, now + 1)
        known[now] = admitted(s, s.context[0, 0], now)


@pytest.mark.parametrize("latency", [1, 500, 20_000])
def test_admissions_take_the_latency(latency):
    known = np.zeros(3 * latency, np.int64)
    _admissions(Link(latency=latency).state, known)
    expected = np.maximum(0, np.arange(3 * latency) - latency + 1)
    assert np.array_equal(known, expected)
