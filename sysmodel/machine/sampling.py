"""What must hold of a kernel for a few channels, or one GPU, to stand for all."""

from contextlib import suppress

import numpy as np

from sysmodel.config.system import System
from sysmodel.gpu.kernel import Kernel, OutputAtoms
from sysmodel.network.mirror import EVEN, UNEVEN

__all__ = ["fewest_channels", "require_output_atoms", "symmetry"]


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
    live = np.array(
        [kernel.live_waves(bool(r), bool(e)) for r, e in zip(outer_edge, inner_edge, strict=True)]
    )
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


def fewest_channels(system: System, kernel: Kernel) -> int:
    """The smallest power of two of the system's channels that stand for all."""
    dram = system.dram
    channels: int = dram.pseudo_channels
    while channels < dram.channels:
        atoms = kernel.output_atoms(channels, system.offset_bits, system.channel_bits)
        with suppress(ValueError):
            require_output_atoms(kernel, atoms, channels, dram.channels)
            break
        channels *= 2
    return channels
