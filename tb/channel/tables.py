"""Tables of the channel's bench, and stores, packets and acknowledgements about their edges."""

import random
from typing import Any

import numpy as np

from rtl.interface.encodings import Action, Datatype, Operation, Policy
from rtl.parameters import T3Parameters
from tb.golden import EVERY_PACKET
from tb.nmc_unit.operands import structured, to_word
from tb.nmc_unit.reference import BITS

__all__ = ["GENERATION", "PARAMETERS", "REDUCTION", "Traffic", "random_arbiter", "random_view"]

# Small, so that random values meet.
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
WORKGROUPS = 50
GENERATION = 6
_ATOMS = 1 << PARAMETERS.atom_address_bits
REDUCTION = {"op": Operation.MAX.value, "dtype": Datatype.FP32.value}
# Of each context: its buffer, and its address space.
_BUFFERS = ((1000, 2000, 1), (3000, 3500, 2))
# The first one's dispatch indices leave, are updated and sent on, or stay.
_RANGES = (
    ((0, 9, Action.REMOTE), (10, 29, Action.DMA), (30, 44, Action.OWN)),
    ((0, WORKGROUPS - 1, None),),
)
_DATA = [f"data_{index}" for index in range(PARAMETERS.atom_bytes // 8)]


def _reduction(rng: random.Random) -> dict[str, int]:
    """Operation and type of a command or of a packet; often the same."""
    if rng.random() < 0.7:
        return dict(REDUCTION)
    return {"op": rng.randrange(3), "dtype": rng.randrange(3)}


def _random_inbound(rng: random.Random) -> dict[str, int]:
    """Mostly everything; else not from one of the sources, or not one operation or type."""
    inbound = dict(EVERY_PACKET)
    if rng.random() < 0.3:
        name = rng.choice([*inbound])
        inbound[name] &= ~(1 << rng.randrange(4))
    return inbound


def random_view(rng: random.Random, context: int) -> dict[str, Any]:
    """What the channels know of a context, but for the dispatch indices that it admits."""
    base, limit, space = _BUFFERS[context]
    first = rng.choice([17, 0, WORKGROUPS - 1])
    epoch = rng.choice([rng.randrange(3), rng.getrandbits(8)])
    maps = {
        "regions": [{"enable": int(rng.random() < 0.95), "base": base, "limit": limit}],
        "ranges": [
            {
                "enable": int(rng.random() < 0.95),
                "region": 0,
                "first": first_index,
                "last": last,
                "action": (action or rng.choice(list(Action)[1:])).value,
                "command": command,
            }
            for command, (first_index, last, action) in enumerate(_RANGES[context])
        ],
        "commands": [
            {
                "kind": rng.getrandbits(1),
                **_reduction(rng),
                "atom_offset": rng.choice([0, _ATOMS - 1000, rng.randrange(_ATOMS)]),
            }
            for _ in range(PARAMETERS.commands)
        ],
    }
    return {
        "aborting": int(rng.random() < 0.05),
        "launched": int(rng.random() < 0.95),
        "former": {"valid": rng.getrandbits(1), "generation": GENERATION - 1},
        "address_space": {
            "enable": int(rng.random() < 0.95),
            "local": space,
            "remote": rng.getrandbits(PARAMETERS.context_bits),
        },
        "inbound": _random_inbound(rng),
        "maps": maps,
        "launch_configuration": {
            "first_workgroup": first,
            "workgroups": WORKGROUPS,
            "epoch": epoch,
            "generation": GENERATION if rng.random() < 0.9 else GENERATION + 1,
        },
    }


def random_arbiter(rng: random.Random) -> dict[str, Any]:
    return {
        "policy": rng.choice(list(Policy)).value,
        "automatic": rng.getrandbits(1),
        "threshold": rng.choice([0, 5, 30, 127]),
        "starvation_limit": rng.choice([0, 3, 20, 0xFFFF]),
        "measure_log2": rng.randrange(5),
        "cuts": sorted(rng.sample(range(80), 3)),
        "levels": [30, 10, 5],
    }


class Traffic:
    """Payloads of the channel's inputs, drawn at random."""

    def __init__(self, rng: random.Random):
        self._rng = rng
        self._numbers = np.random.default_rng(rng.getrandbits(32))

    def next(self, stream: str) -> dict[str, int]:
        """Fields of the next payload of an input stream."""
        return getattr(self, f"_{stream.partition('__')[0]}")()

    def _store_like(self) -> dict[str, int]:
        rng, p = self._rng, PARAMETERS
        base, limit, context = rng.choice(_BUFFERS)
        if rng.random() < 0.1:
            context = rng.getrandbits(p.context_bits)
        workgroup = rng.randrange(WORKGROUPS) if rng.random() < 0.95 else WORKGROUPS
        return {
            "atom": rng.choice([base, limit - 1, rng.randrange(base - 20, limit + 20)]),
            "context": context,
            "generation": GENERATION - (rng.random() < 0.1),
            "workgroup": workgroup,
            "wavefront": rng.randrange(p.wavefronts),
        } | {name: rng.getrandbits(64) for name in _DATA}

    def _reads(self) -> dict[str, int]:
        rng = self._rng
        return {"atom": rng.randrange(_ATOMS), "tag": rng.getrandbits(PARAMETERS.tag_bits)}

    def _stores(self) -> dict[str, int]:
        rng = self._rng
        return self._store_like() | {
            "kind": int(rng.random() < 0.2),
            "tile_atoms": rng.getrandbits(PARAMETERS.tile_atom_bits),
            "outer_edge": rng.getrandbits(1),
            "inner_edge": rng.getrandbits(1),
        }

    def _link_in(self) -> dict[str, int]:
        rng = self._rng
        return self._store_like() | {
            "source": rng.choice([*range(4), 31]),
            "kind": int(rng.random() < 0.8),
            **_reduction(rng),
        }

    def _issue_acks(self) -> dict[str, int]:
        rng = self._rng
        return {
            "access": rng.choices([0, 1, 2], (1, 4, 12))[0],
            "atom": rng.randrange(_ATOMS),
            "owner": rng.choice([0, 0, 1]),
            "dispatch_index": rng.choice([3, 3, rng.randrange(WORKGROUPS)]),
            "wavefront": rng.choice([0, 0, rng.randrange(PARAMETERS.wavefronts)]),
        }

    def _segments(self) -> dict[str, int]:
        rng, p = self._rng, PARAMETERS
        length = rng.randint(1, p.interleave_atoms)
        granule = rng.randrange(_ATOMS // p.interleave_atoms) * p.interleave_atoms
        return {
            "atom": granule + rng.randint(0, p.interleave_atoms - length),
            "length": length,
            "offset": rng.randrange(100),
            "wave_inner_log2": rng.randrange(16),
            "wavefront": rng.randrange(p.wavefronts),
            "workgroup": rng.randrange(WORKGROUPS),
            "context": rng.getrandbits(p.context_bits),
            "generation": rng.getrandbits(4),
            "kind": rng.getrandbits(1),
            "op": rng.randrange(3),
            "dtype": rng.randrange(3),
            "atom_offset": rng.randrange(_ATOMS),
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
