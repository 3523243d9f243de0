"""Progress of a machine's activities: the share of each one's own work that is done."""

from collections.abc import Sequence

from .machine import Machine

__all__ = ["share_done"]


def share_done(machine: Machine, activities: Sequence[int]) -> float:
    """Share of the work of some activities that is done, as the mean over them: workgroups of the
    GEMMs, and bytes that a reduce-scatter or an all-gather has sent."""
    return sum(_share(machine, activity) for activity in activities) / len(activities)


def _share(machine: Machine, activity: int) -> float:
    gpu, kernels, gpus = machine.state.gpu, machine.kernels, machine.gpus
    if activity == machine.activity:
        done = machine.state.kernel["finished"].sum()
        all_of_it = gpus * sum(one.workgroups for one in kernels)
    else:
        # Each GPU sends all chunks but one.
        chunks = machine.kernel.gpus
        output_bytes = sum(one.output_bytes for one in kernels) // machine.whole
        done, all_of_it = gpu["link_bytes"][:, activity].sum(), gpus * output_bytes
        all_of_it = all_of_it * (chunks - 1) // chunks
    return min(1.0, float(done / all_of_it)) if all_of_it else 1.0
