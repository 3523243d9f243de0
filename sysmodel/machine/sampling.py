"""What must hold of a kernel for a few channels, or one GPU, to stand for all."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from sysmodel.config.system import System
from sysmodel.gpu.kernel import Kernel, OutputAtoms
from sysmodel.network.mirror import EVEN, UNEVEN

__all__ = ["Sample", "require_output_atoms", "samples", "stands_for_all", "symmetry"]


def require_output_atoms(kernel: Kernel, output_atoms: OutputAtoms, channels: int, of: int) -> None:
    """Check that every wavefront that writes has an atom in ``channels`` of the ``of`` channels.

    Raises
    ------
    ValueError
        It has none.
    """
    if channels == of:
        return
    _, _, _, outer_edge, inner_edge = kernel.walk
    of_edges = np.array([[kernel.live_waves(r, e) for e in (False, True)] for r in (False, True)])
    live = of_edges[outer_edge.astype(int), inner_edge.astype(int)]
    if ((output_atoms.per_wave > 0).sum(axis=1) != live).any():
        raise ValueError(
            f"{channels} of {of} channels hold no atom of some wavefront's tile: use "
            "--channels all, or more of them"
        )


def symmetry(kernel: Kernel, output_atoms: OutputAtoms, channels: int) -> int:
    """How one GPU stands for all: ``EVEN`` if what it does next is what its neighbour does now,
    channel by channel, ``UNEVEN`` if the tiles are alike but spread otherwise over the channels.

    Raises
    ------
    ValueError
        The chunks differ.
    """
    if kernel.workgroups % kernel.gpus:
        raise ValueError(
            f"{kernel.workgroups} workgroups do not divide into {kernel.gpus} equal chunks, so "
            "one GPU does not stand for all: use --gpus all"
        )
    chunk = kernel.workgroups // kernel.gpus
    held = np.zeros((kernel.workgroups, kernel.waves, channels), np.int64)
    owner = np.repeat(np.arange(kernel.workgroups), np.diff(output_atoms.start))
    np.add.at(held, (owner, output_atoms.wave, output_atoms.channel), 1)
    if (held == np.roll(held, -chunk, axis=0)).all():
        return EVEN
    live = held.any(axis=2)
    if (live != np.roll(live, -chunk, axis=0)).any():
        raise ValueError(
            "the chunks' tiles differ, so one GPU does not stand for all: use --gpus all"
        )
    return UNEVEN


@dataclass(frozen=True)
class Sample:
    """Channels that stand for all: so many, every ``1 << step_bits``-th."""

    channels: int
    step_bits: int = 0

    def atoms(self, system: System, kernel: Kernel) -> OutputAtoms:
        """Those of the output in the sample."""
        return kernel.output_atoms(
            self.channels, system.offset_bits, system.channel_bits, self.step_bits
        )


def samples(system: System, channels: int | None = None) -> Iterator[Sample]:
    """Samples of a system, or those with as many channels, from the smallest on: neighbours, and
    channels as far apart as can be."""
    count: int = channels or system.dram.pseudo_channels
    while count <= system.dram.channels:
        yield Sample(count)
        apart = (system.dram.channels // count).bit_length() - 1
        if apart and count << apart == system.dram.channels:
            yield Sample(count, apart)
        if channels:
            return
        count *= 2


def stands_for_all(system: System, kernel: Kernel, sample: Sample) -> bool:
    """Whether every wavefront that writes has an atom in the sample."""
    with suppress(ValueError):
        atoms = sample.atoms(system, kernel)
        require_output_atoms(kernel, atoms, sample.channels, system.dram.channels)
        return True
    return False
