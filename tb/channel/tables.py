"""Tables of the channel's bench, with stores, packets and acknowledgements near their edges."""

import random
from typing import Any

import numpy as np

from rtl.interface.configuration import GENERATION_BITS, GPU_BITS, RANK_BITS
from rtl.interface.encodings import Action, Datatype, Operation, PacketKind, Policy
from rtl.parameters import T3Parameters
from tb.golden import EVERY_KIND, peer
from tb.nmc_unit.operands import structured, to_word
from tb.nmc_unit.reference import BITS

__all__ = [
    "GENERATION",
    "PARAMETERS",
    "REDUCTION",
    "WORKGROUPS",
    "UNUSED",
    "Traffic",
    "one_peer",
    "random_arbiter",
]

# Small, so that random values coincide often.
PARAMETERS = T3Parameters(
    system_channels=4,
    interleave_atoms=4,
    address_bits=17,
    workgroup_bits=6,
    wavefronts=4,
    tile_atom_bits=4,
    context_bits=2,
    tag_bits=6,
    sets=8,
    ways=2,
    credit_window=16,
    egress_slots=8,
    contexts=2,
    with_data=True,
)
WORKGROUPS = 50  # mostly
_MOST = 1 << PARAMETERS.workgroup_bits
GENERATION = 6  # first generation of the launch
UNUSED = {"enable": 0}  # a table entry whose other fields do not matter
_ATOMS = 1 << PARAMETERS.atom_address_bits
REDUCTION = {"op": Operation.MAX.value, "dtype": Datatype.FP32.value}
# Buffer of each context, and its first address space.
_BUFFERS = ((1000, 2000), (3000, 3500))
_SPACES = (1, 2)
# Stores of the first context's dispatch indices leave, are reduced and sent on, or stay.
_RANGES = ((0, 9, Action.REMOTE), (10, 29, Action.DMA), (30, 44, Action.OWN))
_STORE, _UPDATE, _END, _PLACE = (kind.value for kind in PacketKind)
_DATA = [f"data_{index}" for index in range(PARAMETERS.atom_bytes // 8)]


def _before(generation: int, launches: int = 1) -> int:
    """Return the generation of an earlier launch, ``launches`` before the current one."""
    return (generation - launches) % (1 << GENERATION_BITS)


def _reduction(rng: random.Random) -> dict[str, int]:
    """Draw operation and data type of a command or a packet; often the same."""
    if rng.random() < 0.7:
        return dict(REDUCTION)
    return {"op": rng.randrange(3), "dtype": rng.randrange(3)}


def _random_inbound(rng: random.Random) -> dict[str, int]:
    """Draw an inbound table that mostly accepts everything; otherwise it refuses one operation or
    type."""
    inbound = dict(EVERY_KIND)
    if rng.random() < 0.3:
        name = rng.choice([*inbound])
        inbound[name] &= ~(1 << rng.randrange(4))
    return inbound


def _random_peer(rng: random.Random) -> dict[str, int]:
    """Draw a peer of a rank that packets often carry, which mostly sends everything."""
    return peer(
        enable=int(rng.random() < 0.9),
        gpu=rng.getrandbits(GPU_BITS),
        rank=rng.choice([*range(4), rng.getrandbits(RANK_BITS)]),
        space=rng.getrandbits(PARAMETERS.context_bits),
        sends_stores=int(rng.random() < 0.9),
        sends_updates=int(rng.random() < 0.9),
        takes_stores=int(rng.random() < 0.7),
        takes_updates=int(rng.random() < 0.7),
    )


def one_peer(**fields: int) -> list[dict[str, int]]:
    """Return a table of peers with a first one that sends and takes everything, but for these
    fields."""
    first = {"gpu": 0, "rank": 0, "space": 0} | fields
    return [peer(**first), *[dict(UNUSED) for _ in range(PARAMETERS.peers - 1)]]


def _random_peers(rng: random.Random) -> int:
    """Draw a mask of peers: mostly one, sometimes several or none."""
    several = rng.getrandbits(PARAMETERS.peers)
    return rng.choices([1 << rng.randrange(PARAMETERS.peers), several, 0], (12, 4, 1))[0]


def _anywhere(rng: random.Random, entries: list[dict[str, int]], size: int) -> list[dict[str, int]]:
    """Make a table of this size with the entries at random places."""
    places = [dict(UNUSED) for _ in range(size)]
    for place, entry in zip(rng.sample(range(size), len(entries)), entries, strict=True):
        places[place] = entry
    return places


def _random_ranges(rng: random.Random, context: int, region: int) -> list[dict[str, int]]:
    """Return the first context's tested ranges, or two adjacent ones with random actions."""
    cut = rng.randrange(WORKGROUPS - 1)
    halves = (0, cut, None), (cut + 1, WORKGROUPS - 1, None)
    ranges = [
        {
            "enable": int(rng.random() < 0.95),
            "region": region,
            "first": first,
            "last": last,
            "action": (action or rng.choice(list(Action)[1:])).value,
            "command": rng.randrange(PARAMETERS.commands),
            "shares": rng.choice([0, 1, 2, rng.getrandbits(PARAMETERS.share_bits)]),
            "peers": _random_peers(rng),
            "slot_offset": rng.choice([17, rng.getrandbits(PARAMETERS.credit_limit_bits)]),
        }
        for first, last, action in (_RANGES if context == 0 else halves)
    ]
    return _anywhere(rng, ranges, PARAMETERS.ranges)


def _random_command(rng: random.Random) -> dict[str, int]:
    return {
        "kind": rng.getrandbits(1),
        "marks": rng.getrandbits(1),
        **_reduction(rng),
        "atom_offset": rng.choice([0, _ATOMS - 1000, rng.randrange(_ATOMS)]),
        "waves": rng.choice([[4] * 4, [4] * 4, [rng.randrange(5) for _ in range(4)], [2, 0, 1, 2]]),
    }


def random_arbiter(rng: random.Random) -> dict[str, Any]:
    return {
        "policy": rng.choice(list(Policy)).value,
        "automatic": rng.getrandbits(1),
        "threshold": rng.choice([0, 5, 30, 127]),
        "starvation_limit": rng.choice([0, 3, 20, 0xFFFF]),
        "measure_log2": rng.choice([*range(5), rng.randrange(32)]),
        "cuts": sorted(rng.sample(range(80), 3)),
        "levels": rng.choice([[30, 10, 5], [rng.randrange(128) for _ in range(3)]]),
    }


class Traffic:
    """Views of the contexts and payloads of the channel's inputs, drawn at random.

    Attributes
    ----------
    generation : int
        Generation of most payloads.
    single : bool
        All segments are for the first peer.
    """

    def __init__(self, rng: random.Random):
        self._rng = rng
        self.generation = GENERATION
        self.single = False
        self._spaces = _SPACES
        self._atom = 0
        self._numbers = np.random.default_rng(rng.getrandbits(32))

    def change(self) -> None:
        """Change the generation and the address spaces."""
        self.generation = self._rng.getrandbits(GENERATION_BITS)
        self._spaces = self._rng.sample(range(1 << PARAMETERS.context_bits), PARAMETERS.contexts)

    def view(self, context: int) -> dict[str, Any]:
        """Return a context's view, without the admitted dispatch indices.

        Fields that the channels ignore are absent.
        """
        rng, p = self._rng, PARAMETERS
        base, limit = _BUFFERS[context]
        region = {"enable": int(rng.random() < 0.95), "base": base, "limit": limit}
        regions = _anywhere(rng, [region], p.regions)
        return {
            "aborting": int(rng.random() < 0.1),
            "launched": int(rng.random() < 0.95),
            "changes": int(rng.random() < 0.1),
            "former": {"valid": rng.getrandbits(1), "generation": _before(self.generation)},
            "address_space": {
                "enable": int(rng.random() < 0.95),
                "local": self._spaces[context],
            },
            "rank": rng.getrandbits(RANK_BITS),
            "peers": [_random_peer(rng) for _ in range(p.peers)],
            "inbound": _random_inbound(rng),
            "maps": {
                "regions": regions,
                "ranges": _random_ranges(rng, context, regions.index(region)),
                "commands": [_random_command(rng) for _ in range(p.commands)],
            },
            "launch_configuration": {
                "workgroups": rng.choice([WORKGROUPS, WORKGROUPS, _MOST, rng.randint(1, _MOST)]),
                "tracked_end": rng.choice([0, 0, 0, rng.randint(0, _MOST)]),
                "epoch": rng.choice([rng.randrange(3), rng.getrandbits(8)]),
                "accumulate": rng.getrandbits(1),
                "generation": _before(self.generation, -int(rng.random() < 0.1)),
            },
        }

    def next(self, stream: str) -> dict[str, int]:
        """Draw the fields of the next payload of an input stream."""
        return getattr(self, f"_{stream.partition('__')[0]}")()

    def _store_like(self, index: str) -> dict[str, int]:
        """Draw the fields that a store and a packet share; ``index`` names the dispatch index."""
        rng, p = self._rng, PARAMETERS
        owner = rng.randrange(p.contexts)
        (base, limit), context = _BUFFERS[owner], self._spaces[owner]
        if rng.random() < 0.1:
            context = rng.getrandbits(p.context_bits)
        dispatch_index = rng.randrange(WORKGROUPS) if rng.random() < 0.95 else WORKGROUPS
        return {
            "atom": rng.choice([base, limit - 1, rng.randrange(base - 20, limit + 20)]),
            "context": context,
            "generation": _before(self.generation, int(rng.random() < 0.1)),
            index: dispatch_index,
            "wavefront": rng.randrange(p.wavefronts),
        } | {name: rng.getrandbits(64) for name in _DATA}

    def _reads(self) -> dict[str, int]:
        rng = self._rng
        return {"atom": rng.randrange(_ATOMS), "tag": rng.getrandbits(PARAMETERS.tag_bits)}

    def _stores(self) -> dict[str, int]:
        rng = self._rng
        return self._store_like("dispatch_index") | {
            "kind": int(rng.random() < 0.2),
            "tile_atoms": rng.getrandbits(PARAMETERS.tile_atom_bits),
            "outer_edge": rng.getrandbits(1),
            "inner_edge": rng.getrandbits(1),
            "shares": rng.choice([1, rng.getrandbits(PARAMETERS.share_bits)]),
        }

    def _link_in(self) -> dict[str, int]:
        rng = self._rng
        kind = rng.choices([_STORE, _UPDATE, _END, _PLACE], (4, 10, 4, 4))[0]
        fields = self._store_like("slot") | {
            "destination": rng.getrandbits(GPU_BITS),
            "source": rng.choices([*range(4), rng.getrandbits(RANK_BITS)], (8, 8, 8, 8, 1))[0],
            "kind": kind,
            **_reduction(rng),
        }
        # A marker has no atom; one in a region must not matter.
        if kind == _END and rng.random() < 0.8:
            fields["atom"] = rng.randrange(_ATOMS)
        return fields

    def _issue_acks(self) -> dict[str, int]:
        rng = self._rng
        # Often the last atom with one bit inverted; this bit then decides which atom is lower.
        near = self._atom ^ 1 << rng.randrange(PARAMETERS.atom_address_bits)
        self._atom = rng.choice([near, rng.randrange(_ATOMS)])
        return {
            "access": rng.choices([0, 1, 2, 3], (1, 4, 10, 3))[0],
            "atom": self._atom,
            "owner": rng.choice([0, 0, 1]),
            "dispatch_index": rng.choice([3, 3, rng.randrange(WORKGROUPS)]),
            "wavefront": rng.choice([0, 0, rng.randrange(PARAMETERS.wavefronts)]),
        }

    def _segments(self) -> dict[str, int]:
        rng, p = self._rng, PARAMETERS
        if rng.random() < 0.1:
            return self._marker()
        length = rng.randint(1, p.interleave_atoms)
        granule = rng.randrange(_ATOMS // p.interleave_atoms) * p.interleave_atoms
        return {
            "atom": granule + rng.randint(0, p.interleave_atoms - length),
            "length": length,
            "offset": rng.choice([rng.randrange(100), rng.getrandbits(16)]),
            "wave_inner_log2": rng.randrange(16),
            "kind": rng.getrandbits(1),
            "atom_offset": rng.randrange(_ATOMS),
        } | self._of_tile()

    def _marker(self) -> dict[str, int]:
        """Draw the segment of an END packet."""
        whole = {"kind": _END, "length": 1, "offset": 0, "atom_offset": 0, "wave_inner_log2": 15}
        return whole | {"atom": self._rng.randrange(_ATOMS)} | self._of_tile()

    def _of_tile(self) -> dict[str, int]:
        """Draw the fields of a segment's tile and command."""
        rng, p = self._rng, PARAMETERS
        return {
            "wavefront": rng.randrange(p.wavefronts),
            "slot": rng.getrandbits(p.dispatch_index_bits),
            "peers": 1 if self.single else _random_peers(rng),
            "generation": rng.getrandbits(4),
            "op": rng.randrange(3),
            "dtype": rng.randrange(3),
        }

    def _nmc_in(self) -> dict[str, int]:
        rng = self._rng
        dtype = rng.choice(list(Datatype))
        size = PARAMETERS.atom_bytes // BITS[dtype](0).nbytes
        operands = structured(self._numbers, dtype, size)
        words = {
            f"{name}_{index}": to_word(numbers) >> 64 * index & (1 << 64) - 1
            for name, numbers in zip(("stored", "operand"), operands, strict=True)
            for index in range(len(_DATA))
        }
        return {
            "owner": rng.randrange(PARAMETERS.contexts),
            "stored_epoch": rng.choice([rng.randrange(3), rng.getrandbits(8)]),
            "op": rng.randrange(3),
            "dtype": dtype.value,
        } | words
