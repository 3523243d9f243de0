"""A channel under random traffic on every port, in every cycle against the golden model."""

import random
from collections import Counter

import pytest

from rtl.interface.encodings import (
    Access,
    Datatype,
    ErrorCode,
    Operation,
    PacketKind,
    StoreKind,
)
from tests.support.channel_bench import (
    DATA,
    INPUTS,
    OUTPUTS,
    TIMING,
    WORKGROUPS,
    changed,
    simulate,
)


def random_inputs(rng, p):
    """An input for each port; dispatch indices and atoms about the edges of the regions and
    ranges."""
    inside = [(1000, 1), (1999, 1), (3000, 2), (3499, 2)]
    outside = [(999, 1), (2000, 1), (1000, 2), (3500, 2)]
    atom, context = rng.choice(inside if rng.random() < 0.8 else outside)
    index = rng.randrange(WORKGROUPS + 3)
    common = {
        "atom": atom,
        "context": context,
        "wavefront": rng.randrange(p.wavefronts),
    }
    payload = {"data": [rng.getrandbits(64) for _ in range(4)]} if p.with_data else {}
    return {
        "reads": {"atom": rng.getrandbits(35), "tag": rng.getrandbits(16)},
        "stores": {
            **common,
            "dispatch_index": index,
            "kind": rng.choice([StoreKind.STORE, StoreKind.STORE, StoreKind.END_OF_TILE]),
            "tile_atoms": rng.getrandbits(p.tile_atom_bits),
            "outer_edge": rng.getrandbits(1),
            "inner_edge": rng.getrandbits(1),
            "shares": rng.getrandbits(p.share_bits),
            **payload,
        },
        "link_in": {
            **common,
            "slot": index,
            "source": rng.randrange(2),
            "destination": rng.getrandbits(7),
            "kind": rng.choice([*PacketKind, PacketKind.UPDATE]),
            **rng.choice(
                [
                    {"op": Operation.MIN, "dtype": Datatype.FP32},
                    {"op": Operation.SUM, "dtype": Datatype.BF16},
                    {"op": rng.choice(list(Operation)), "dtype": rng.choice(list(Datatype))},
                ]
            ),
            **payload,
        },
        "issue_acks": {
            "access": rng.choice([Access.WRITE, Access.UPDATE, Access.PLACE]),
            "atom": rng.getrandbits(35),
            "owner": rng.getrandbits(1),
            "dispatch_index": rng.choice([3, rng.getrandbits(16)]),
            "wavefront": rng.choice([0, 0, 0, rng.randrange(p.wavefronts)]),
        },
    }


def random_peer(rng):
    """A peer of a rank that packets often carry."""
    rights = ("sends_stores", "sends_updates", "takes_stores", "takes_updates")
    return {
        "enable": int(rng.random() < 0.9),
        "gpu": rng.getrandbits(7),
        "rank": rng.choice([0, 1, rng.getrandbits(7)]),
        "space": rng.getrandbits(4),
        **{name: int(rng.random() < 0.8) for name in rights},
    }


def random_receivers(rng):
    """Receivers of a range: one, several or none. Mostly, no tile arrives in its slots."""
    peers = rng.choice([1 << rng.randrange(8), rng.getrandbits(8), 0])
    return {"peers": peers, "slot_offset": rng.getrandbits(17), "shares": rng.choice([0, 0, 1, 5])}


@pytest.mark.parametrize(
    ("p", "seed"),
    [
        pytest.param(TIMING, 0, id="timing", marks=pytest.mark.verify),
        pytest.param(DATA, 1, id="data"),
    ],
)
def test_random(p, seed):
    print(f"seed {seed}")
    rng = random.Random(seed)
    seen = Counter()

    async def bench(channel):
        offered = {}
        for step in range(1500):
            if step % 40 == 39:
                # Requests that are on their way see the change.
                workgroups = rng.choice([WORKGROUPS, WORKGROUPS, 20, 1 << 16])
                tracked_end = rng.choice([0, workgroups, rng.randint(0, WORKGROUPS), 1 << 16])
                channel.program(
                    changed(
                        rng.randrange(2),
                        launch={"workgroups": workgroups, "tracked_end": tracked_end},
                        aborting=int(rng.random() < 0.3),
                        rank=rng.randrange(128),
                        peers=[random_peer(rng) for _ in range(p.peers)],
                        **{f"ranges_{number}": random_receivers(rng) for number in (0, 2)},
                    )
                )
            if step % 50 == 0:
                rates = {name: rng.choice([0.2, 0.8, 1]) for name in [*INPUTS, *OUTPUTS]}
                base = rng.randrange(5, 30)
                limit = base + rng.randrange(20)
            fresh = random_inputs(rng, p)
            for name in INPUTS:
                if name not in offered and rng.random() < rates[name]:
                    offered[name] = fresh[name]
            ready = [name for name in INPUTS if channel.model.ready(name)]
            taken = [name for name in OUTPUTS if rng.random() < rates[name]]
            left, errors = await channel.cycle(offered, taken, base, limit)
            for name in ready:
                offered.pop(name, None)
            seen.update(left.keys())
            seen.update(errors)

    simulate(p, bench)
    assert min(seen[name] for name in OUTPUTS) > 5
    errors = list(ErrorCode)[ErrorCode.STORE_LATE.value : ErrorCode.PACKET_AHEAD.value + 1]
    assert all(seen[error] for error in (*errors, ErrorCode.PACKET_MISMATCH))
