"""Commands of the DMA engine's bench."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rtl.interface.encodings import Granularity
from rtl.parameters import T3Parameters

__all__ = [
    "NO_ATOM",
    "PARAMETERS",
    "WHOLE_SPACE",
    "long_command",
    "random_commands",
    "random_copy",
    "random_ranges",
    "random_ready",
    "random_regions",
    "wide_commands",
]

# Two of four channels, not including the first.
PARAMETERS = T3Parameters(
    contexts=1,
    channels=2,
    first_channel=1,
    system_channels=4,
    interleave_atoms=4,
    address_bits=20,
    tile_atom_bits=7,
    workgroup_bits=6,
    wavefronts=8,
    sets=8,
    ways=2,
    credit_window=16,
)
_WORKGROUPS = 24
_ATOMS = 1 << PARAMETERS.atom_address_bits
WHOLE_SPACE = {"enable": 1, "base": 0, "limit": _ATOMS - 1}
"""Whole space as a region; no region can have the last atom."""
NO_ATOM = _ATOMS - 1
"""Start of a tile without atoms."""

_Regions = Sequence[Mapping[str, int]]


def random_commands(rng: random.Random) -> list[dict[str, Any]]:
    """Draw commands of small tiles, some empty, and some with wavefronts that have no part of the
    tile.
    """
    return [
        {
            "kind": rng.getrandbits(1),
            "marks": rng.getrandbits(1),
            "op": rng.randrange(3),
            "dtype": rng.randrange(3),
            "atom_offset": rng.choice([0, _ATOMS - 5, rng.randrange(_ATOMS)]),
            "granularity": rng.choice(list(Granularity)).value,
            "outer_extent": rng.choice([1, rng.randrange(6)]),
            "outer_extent_edge": rng.randrange(6),
            "inner_extent": rng.choice([1, 4, rng.randrange(20)]),
            "inner_extent_edge": rng.randrange(20),
            "stride": rng.choice([4, rng.getrandbits(24)]),
            "region": rng.randrange(PARAMETERS.regions),
            "wave_outer_extent": rng.randrange(PARAMETERS.dma_walkers + 2),
            "wave_inner_log2": rng.choice([0, 1, 2, 3, rng.randrange(16)]),
            "waves_inner_log2": rng.randrange(4),
            "waves": [rng.randrange(PARAMETERS.wavefronts + 1) for _ in range(4)],
        }
        for _ in range(PARAMETERS.commands)
    ]


def random_ranges(rng: random.Random) -> list[dict[str, int]]:
    """Draw commands, peers and slot offsets of all ranges."""
    bits = PARAMETERS.credit_limit_bits
    return [
        {
            "command": rng.randrange(PARAMETERS.commands),
            "peers": rng.getrandbits(PARAMETERS.peers),
            "slot_offset": rng.choice([0, rng.randrange(12), rng.getrandbits(bits)]),
        }
        for _ in range(PARAMETERS.ranges)
    ]


def random_regions(rng: random.Random) -> list[dict[str, int]]:
    """Draw regions: mostly the whole address space, otherwise its beginning or its end, or
    nothing.
    """
    regions = []
    for _ in range(PARAMETERS.regions):
        cut = rng.choice([rng.randrange(1, _ATOMS - 1), rng.randrange(1, 40)])
        changes = [{}, {}, {}, {"base": cut}, {"limit": cut}, {"base": cut, "limit": cut + 40}]
        region = WHOLE_SPACE | rng.choice(changes) | {"enable": int(rng.random() < 0.95)}
        region["limit"] = min(region["limit"], _ATOMS - 1)
        regions.append(region)
    return regions


def wide_commands(rng: random.Random) -> list[dict[str, Any]]:
    """Draw commands with any value in every field, whose walks are too long to follow to
    their end.
    """

    def size() -> int:
        return rng.choice([rng.getrandbits(16), rng.getrandbits(rng.randrange(17))])

    names = (
        "outer_extent",
        "outer_extent_edge",
        "inner_extent",
        "inner_extent_edge",
        "wave_outer_extent",
    )
    return [
        command | {name: size() for name in names} | {"stride": rng.getrandbits(24)}
        for command in random_commands(rng)
    ]


def long_command(rng: random.Random, wavefront: int) -> dict[str, Any]:
    """Draw extents that exercise many of their bits. If the tile of one wavefront is walked, little
    of the tile is left behind the other wavefronts.
    """
    minor_log2 = rng.randrange(4)
    minor, major = wavefront % (1 << minor_log2), wavefront >> minor_log2
    long = (1 << rng.randrange(4, 12)) + rng.randrange(4)
    short = rng.randint(1, PARAMETERS.dma_walkers)  # each walker has a long row in its turn
    wave_outer_extent = rng.getrandbits(rng.choice([rng.randrange(1, 15), 16]))
    run_log2 = rng.randrange(16)
    if rng.random() < 0.3:
        granularity = Granularity.WORKGROUP
        outer_extent, inner_extent = rng.choice([(long, short), (short, long)])
        wave_outer_extent = rng.randint(1, outer_extent)
    else:
        granularity = Granularity.WAVEFRONT
        size = 1 << run_log2
        shares = [(rng.choice([-1, 1, 2, long]), short)]
        if run_log2 < 13:  # otherwise the walk takes too long
            shares.append(
                (rng.choice([-1, 1, 2]), rng.choice([-1, size, size + long, size + long]))
            )
        of_rows, of_run = rng.choice(shares)
        most = (1 << 16) - 1
        outer_extent = min(max(major * wave_outer_extent + of_rows, 0), most)
        inner_extent = min(max((minor << run_log2) + of_run, 0), most)
    return random_commands(rng)[0] | {
        "granularity": granularity.value,
        **{
            "outer_extent": outer_extent,
            "outer_extent_edge": outer_extent,
            "inner_extent": inner_extent,
            "inner_extent_edge": inner_extent,
        },
        **{
            "wave_outer_extent": wave_outer_extent,
            "wave_inner_log2": run_log2,
            "waves_inner_log2": minor_log2,
        },
    }


def _start(rng: random.Random, regions: _Regions) -> int:
    """Draw an atom anywhere, or near the end of a region."""
    end = rng.choice([region[end] for region in regions for end in ("base", "limit")])
    near = (end + rng.choice([rng.randrange(-20, 8), rng.randint(-3, 3)])) % _ATOMS
    anywhere = rng.randrange(_ATOMS)
    return rng.choice([anywhere, anywhere & -4, _ATOMS - 2, NO_ATOM, near, near, end])


def random_ready(rng: random.Random, regions: _Regions = (WHOLE_SPACE,)) -> dict[str, int]:
    """Draw a ready command."""
    p = PARAMETERS
    return {
        "range": rng.randrange(p.ranges),
        "dispatch_index": rng.randrange(_WORKGROUPS),
        "wavefront": rng.randrange(p.wavefronts),
        "start": _start(rng, regions),
        "outer_edge": rng.getrandbits(1),
        "inner_edge": rng.getrandbits(1),
        "last": rng.getrandbits(1),
    }


def random_copy(
    rng: random.Random,
    regions: _Regions = (WHOLE_SPACE,),
    commands: Callable[[random.Random], list[dict[str, Any]]] = random_commands,
) -> dict[str, Any]:
    """Draw a copy with a command of its own and one of these regions."""
    not_read = {"group_log2": rng.randrange(8)}
    return {
        "command": commands(rng)[0] | not_read,
        "region": dict(rng.choice(regions)),
        "start": _start(rng, regions),
        "peers": rng.getrandbits(PARAMETERS.peers),
    }
