"""Sampling: conditions under which a few channels, or one GPU, represent all."""

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from sysmodel.collectives.group import Group
from sysmodel.config.system import System
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.geometry.output_atoms import OutputAtoms
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.neighbours import downstream
from sysmodel.network.fabric import Fabric
from sysmodel.network.invariance import why_not_invariant
from sysmodel.network.mirror import EVEN, UNEVEN

__all__ = [
    "output_atoms",
    "require_invariance",
    "require_output_atoms",
    "samples",
    "stands_for_all",
    "symmetry",
    "why_not_alike",
]

# With fewer channels, a GEMM of 20 us on b200 is up to 17 % too fast: none of them is as full as
# the fullest of all.
_LEAST_ALONE = 16
_UNEVEN_SHARE = 0.02  # of a sample whose speedups differ by no more, as docs/sampling.md shows


def require_output_atoms(
    kernel: Kernel, atoms: OutputAtoms, channels: int, of: int, *, alone: bool = False
) -> None:
    """Check that every wavefront that writes has an atom in ``channels`` of the ``of`` channels.

    ``alone``: no collective moves the output. Then it is also enough that there are
    :data:`_LEAST_ALONE` channels, which hold their share of the atoms.

    Raises
    ------
    ValueError
        If a wavefront has no such atom.
    """
    share = len(atoms.channel) * ATOM_BYTES / kernel.output_bytes * of / channels
    is_even = channels >= _LEAST_ALONE and abs(share - 1) <= _UNEVEN_SHARE
    if channels == of or (alone and is_even):
        return
    layout, walk = kernel.layout, kernel.walk
    of_edges = np.array([[layout.live_waves(r, e) for e in (False, True)] for r in (False, True)])
    live = of_edges[walk.outer_edge.astype(int), walk.inner_edge.astype(int)]
    if ((atoms.per_wave > 0).sum(axis=1) != live).any():
        raise ValueError(
            f"{channels} of {of} channels do not hold an atom of every wavefront's tile; "
            "allowed: more channels, or all"
        )


def require_invariance(fabric: Fabric) -> None:
    """Check that the ways of all GPUs to their neighbours downstream are alike and separate.

    Raises
    ------
    ValueError
        If they are not.
    """
    if reason := why_not_alike(fabric):
        raise ValueError(f"{fabric.name}: one GPU cannot represent all, because {reason}")


def why_not_alike(fabric: Fabric) -> str | None:
    """Find the reason for which the ways of all GPUs to their neighbours downstream are not alike
    and separate; None if they are."""
    gpus = fabric.gpus
    neighbours = [(gpu, int(downstream(gpu, gpus))) for gpu in range(gpus)]
    if reason := why_not_invariant(fabric, Group((gpus,)), pairs=neighbours):
        return reason
    ways = [{link for way in fabric.routes(*pair) for link in way} for pair in neighbours]
    return "GPUs share links" if len(set.union(*ways)) < sum(map(len, ways)) else None


def symmetry(kernel: Kernel, atoms: OutputAtoms, channels: int) -> int:
    """Symmetry by which one GPU represents all.

    ``EVEN`` if the work of a chunk equals the work of the next chunk in every channel, ``UNEVEN``
    if the tiles are equal but spread differently over the channels.

    Raises
    ------
    ValueError
        If the chunks differ.
    """
    if kernel.workgroups % kernel.gpus:
        raise ValueError(
            f"{kernel.workgroups} workgroups do not divide into {kernel.gpus} equal chunks, so "
            "one GPU cannot represent all"
        )
    chunk = kernel.workgroups // kernel.gpus
    held = np.zeros((kernel.workgroups, kernel.waves, channels), np.int64)
    owner = np.repeat(np.arange(kernel.workgroups), np.diff(atoms.start))
    np.add.at(held, (owner, atoms.wave, atoms.channel), 1)
    if (held == np.roll(held, -chunk, axis=0)).all():
        return EVEN
    live = held.any(axis=2)
    if (live != np.roll(live, -chunk, axis=0)).any():
        raise ValueError("the chunks' tiles differ, so one GPU cannot represent all")
    return UNEVEN


def output_atoms(system: System, kernel: Kernel, channels: int) -> OutputAtoms:
    """Find the output's atoms in the first ``channels`` channels of the memory."""
    return kernel.output_atoms(channels, system.offset_bits, system.dram.channels)


def samples(system: System) -> Iterator[int]:
    """Yield the numbers of channels that may represent all, in ascending order."""
    channels: int = system.dram.pseudo_channels
    while channels < system.dram.channels:
        yield channels
        channels *= 2
    yield system.dram.channels


def stands_for_all(system: System, kernel: Kernel, channels: int, *, alone: bool = False) -> bool:
    """Return True if this number of channels represents all; see :func:`require_output_atoms`."""
    with suppress(ValueError):
        atoms = output_atoms(system, kernel, channels)
        require_output_atoms(kernel, atoms, channels, system.dram.channels, alone=alone)
        return True
    return False
