"""A block's mutants: drawn, played against its bench in stages, and what is left proved."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verification.targets import TARGETS

from .equivalence import equivalent
from .netlist import Mutant, mutate
from .simulate import Death, build, play

__all__ = ["STAGES", "Outcome", "run_block"]

STAGES = ((1, 1), (2, 2), (6, 3))
"""Scale of the bench and what is added to the seed, for what is left after the stage before."""


@dataclass(frozen=True)
class Outcome:
    """What became of a block's mutants of one seed.

    Attributes
    ----------
    block : str
    seed : int
    mutants : list of Mutant
    deaths : dict
        By the number of the mutant.
    equivalent : set of int
        Mutants that are proved to behave like the block.
    seconds : float
    """

    block: str
    seed: int
    mutants: list[Mutant]
    deaths: dict[int, Death]
    equivalent: set[int]
    seconds: float

    @property
    def survivors(self) -> list[Mutant]:
        """Those that were neither noticed nor proved equivalent."""
        return [
            mutant
            for mutant in self.mutants
            if mutant.number not in self.deaths and mutant.number not in self.equivalent
        ]

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "block": self.block,
            "seed": self.seed,
            "mutants": len(self.mutants),
            "killed": len(self.deaths),
            "survived": len(self.survivors),
            "equivalent": len(self.equivalent),
            "seconds": round(self.seconds, 1),
            "survivors": [
                {
                    "number": mutant.number,
                    "mode": mutant.mode,
                    "place": mutant.place,
                    "sources": list(mutant.sources),
                }
                for mutant in self.survivors
            ],
        }


def run_block(name: str, *, count: int, seed: int, folder: Path) -> Outcome:
    """Mutate one of :data:`~verification.targets.BLOCKS`.

    A mutant that a stage of the bench leaves is first tried to be proved equivalent, then played
    longer and with other random choices.

    Parameters
    ----------
    name : str
    count, seed : int
        Mutants, and what makes them and the bench's choices random.
    folder : Path
        For everything that is made on the way; it must exist.

    Raises
    ------
    AssertionError
        If the bench fails on the block as it is.
    """
    begin = time.perf_counter()
    target = TARGETS[name]
    mutants, verilog = mutate(target.make(), name, count=count, seed=seed, folder=folder)
    build(verilog, name, folder)
    deaths: dict[int, Death] = {}
    same: set[int] = set()
    left = mutants
    for number, (scale, offset) in enumerate(STAGES):
        if not left:
            break
        numbers = [mutant.number for mutant in left]
        deaths |= play(target.module, name, numbers, scale=scale, seed=seed + offset, folder=folder)
        left = [mutant for mutant in left if mutant.number not in deaths]
        if number == 0:
            same = equivalent(left, name, folder)
            left = [mutant for mutant in left if mutant.number not in same]
    return Outcome(name, seed, mutants, deaths, same, time.perf_counter() - begin)
