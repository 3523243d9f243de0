"""Places of a GEMM's buffers in memory: regions of the address space, and their limits."""

from collections.abc import Iterable
from dataclasses import dataclass

from sysmodel.gpu.atoms import ATOM_BYTES

__all__ = [
    "A_ATOM",
    "B_ATOM",
    "END_OF_REGIONS_ATOM",
    "MOST_OUTPUT_ATOMS",
    "OUTPUT_ATOM",
    "Placement",
    "placed_apart",
]

# Operands and output lie in regions that differ in high address bits; the output's staging copy
# lies beyond them.
OUTPUT_ATOM = (1 << 32) // ATOM_BYTES
A_ATOM = (2 << 32) // ATOM_BYTES
B_ATOM = (3 << 32) // ATOM_BYTES
END_OF_REGIONS_ATOM = (4 << 32) // ATOM_BYTES
MOST_OUTPUT_ATOMS = (1 << 30) // ATOM_BYTES

_PAGE_ATOMS = 4096 // ATOM_BYTES


@dataclass(frozen=True)
class Placement:
    """First atoms of the output and of the operands A and B."""

    output_atom: int = OUTPUT_ATOM
    a_atom: int = A_ATOM
    b_atom: int = B_ATOM

    def maps(self, output_atoms: int) -> bool:
        """Test whether an output of so many atoms lies within its region."""
        return self.output_atom + output_atoms <= OUTPUT_ATOM + MOST_OUTPUT_ATOMS


def placed_apart(outputs: Iterable[int]) -> list[Placement]:
    """Place separate buffers for outputs of these numbers of atoms, with the outputs one after the
    other on page boundaries."""
    placed: list[Placement] = []
    output = OUTPUT_ATOM
    for number, atoms in enumerate(outputs):
        operands = number * MOST_OUTPUT_ATOMS
        placed.append(Placement(output, A_ATOM + operands, B_ATOM + operands))
        output = -(-(output + atoms) // _PAGE_ATOMS) * _PAGE_ATOMS
    return placed
