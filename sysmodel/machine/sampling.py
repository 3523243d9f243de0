"""What must hold of a kernel for a few channels, or one GPU, to stand for all."""

import numpy as np

from sysmodel.gpu.kernel import Kernel, OutputAtoms

__all__ = ["require_output_atoms", "require_symmetry"]


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


def require_symmetry(kernel: Kernel, output_atoms: OutputAtoms, channels: int) -> None:
    """Check that what one GPU does next is what its neighbour does now, channel by channel.

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
    if (held != np.roll(held, -chunk, axis=0)).any():
        raise ValueError(
            "the chunks spread unevenly over the simulated channels, so one GPU does not stand "
            "for all: use --gpus all"
        )
