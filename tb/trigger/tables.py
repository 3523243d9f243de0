"""Tables and completions of the trigger unit's bench."""

import random
from typing import Any

from rtl.interface.encodings import Action, Granularity
from rtl.parameters import T3Parameters

__all__ = ["PARAMETERS", "DISPATCH_INDICES", "random_completion", "random_maps", "wide_maps"]

# Small, so that workgroups complete and rows of the memories are reused.
PARAMETERS = T3Parameters(
    address_bits=20,
    tile_atom_bits=7,
    workgroup_bits=8,
    wavefronts=4,
    sets=8,
    ways=2,
    credit_window=16,
    command_depth=32,
    contexts=2,
)
DISPATCH_INDICES = 34


def random_maps(rng: random.Random) -> dict[str, Any]:
    """Draw ranges with gaps or overlaps, and groups that the end of a range cuts short."""
    actions = [Action.DMA, Action.DMA, Action.OWN, rng.choice(list(Action)[1:])]
    ranges = []
    for index, action in enumerate(actions):
        first = 8 * index + rng.choice([0, 0, 2])
        last = first + rng.choice([7, 7, 4, 6, 9])
        enable = int(rng.random() < 0.95)
        ranges.append(
            {
                "enable": enable,
                "region": rng.randrange(2),
                "first": first,
                "last": min(last, DISPATCH_INDICES),
                "action": action.value,
                "command": rng.choice([index, index, rng.randrange(4)]),
            }
        )
    commands = [
        {
            "granularity": rng.choice(list(Granularity)).value,
            "group_log2": rng.choice([0, 0, 1, 2, 3]),
            "waves": [rng.choice([1, 1, 2, 3]) for _ in range(4)],
        }
        for _ in range(4)
    ]
    if rng.random() < 0.1:
        commands[3]["waves"] = [0] * 4
    return {"ranges": ranges, "commands": commands}


def wide_maps(rng: random.Random) -> dict[str, Any]:
    """Draw short ranges anywhere, with any value in every other field."""
    maps = random_maps(rng)
    dispatch_indices = 1 << PARAMETERS.dispatch_index_bits
    for entry in maps["ranges"]:
        first = rng.choice(
            [rng.randrange(dispatch_indices), 1 << rng.randrange(PARAMETERS.dispatch_index_bits)]
        )
        last = min(first + rng.randrange(8), dispatch_indices - 1)
        entry |= {"first": first, "last": last, "action": rng.randrange(1, 4)}
        entry |= {"command": rng.randrange(4)}
    for command in maps["commands"]:
        command["group_log2"] = rng.randrange(8)
        command["waves"] = [rng.choice([1, 2, rng.randrange(16)]) for _ in range(4)]
    return maps


def random_completion(rng: random.Random, dispatch_indices: range) -> dict[str, int]:
    """Draw a tile; mostly its dispatch index determines the edges."""
    dispatch_index = rng.choice(dispatch_indices)
    own_edges = rng.random() < 0.1
    return {
        "owner": rng.randrange(PARAMETERS.contexts),
        "dispatch_index": dispatch_index,
        "wavefront": rng.randrange(PARAMETERS.wavefronts),
        "start": rng.getrandbits(PARAMETERS.atom_address_bits),
        "outer_edge": rng.getrandbits(1) if own_edges else int(dispatch_index % 8 == 7),
        "inner_edge": rng.getrandbits(1) if own_edges else int(dispatch_index % 3 == 2),
    }
