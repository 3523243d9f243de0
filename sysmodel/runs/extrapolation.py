"""Extrapolation of a GEMM that is too large to simulate from smaller ones.

A time or a count of bytes is assumed to be linear in the depth of the sums, as long as the GEMM
hides its reduce-scatter, and as linear in the rows, with the same columns, chunks and order of
workgroups.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from sysmodel.config.system import System
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.gpu.kernel import Kernel

from .run_network import RunNetwork

__all__ = ["ExtrapolatedKernel", "SizeChoice"]

# Errors of an extrapolation in the rows that count beside its number of rounds, as measured on
# mi300x and h200: rows that do not divide the whole's spread the atoms less evenly over channels (5
# to 15 %), as do bands of another height, which also reuse the L2 differently.
_UNLIKE = 0.1
_STEP = 0.01  # for each step from the smaller size to the larger one that leads to the whole
_HALF = 0.1  # for each difference of the ratio of the two sizes from one half
_HIDDEN = 2  # a GEMM that takes this multiple of its reduce-scatter's time certainly hides it


@dataclass(frozen=True)
class ExtrapolatedKernel:
    """GEMM, and the GEMMs that are simulated for it.

    Parameters
    ----------
    kernel : Kernel
        GEMM whose times and counts are needed.
    base : Kernel
        Largest GEMM that is simulated; the kernel itself if that is not too large.
    smaller : tuple of Kernel
        GEMMs with fewer rows, or with less depth, than the base.
    """

    kernel: Kernel
    base: Kernel
    smaller: tuple[Kernel, ...] = ()

    @property
    def simulated(self) -> tuple[Kernel, ...]:
        return self.base, *self.smaller

    def value(self, of: Callable[[Kernel], float], *, deepens: bool = True) -> Fraction:
        """Time or count of the GEMM, from the values ``of`` the simulated GEMMs.

        ``deepens``: the value depends on the depth of the sums.
        """
        base = Fraction(of(self.base))
        value = base
        for one in self.smaller:
            if one.tiling.k != self.base.tiling.k and not deepens:
                continue
            grown = _growth(self.kernel.tiling, self.base.tiling, one.tiling)
            value *= 1 + grown * (1 - Fraction(of(one)) / base) if base else 0
        return value


def _growth(whole: Tiling, base: Tiling, smaller: Tiling) -> Fraction:
    """Step from the base to the whole, in steps from the smaller size to the base."""
    if smaller.m != base.m:
        return Fraction(whole.m - base.m, base.m - smaller.m)
    return Fraction(whole.k - base.k, base.k - smaller.k)


def _with_rows(kernel: Kernel, rows: int) -> Kernel:
    """Same kernel with another number of rows, and with the same cut into chunks."""
    fewer = kernel.resized(m=rows)
    return replace(fewer, chunks=replace(fewer.chunks, grid=kernel.chunks.cut))


@dataclass(frozen=True)
class SizeChoice:
    """Choice of the sizes to simulate on a system.

    Work is counted in cycles of the hardware's clock at the peaks of pipes and link, times the
    simulated channels of all simulated GPUs, plus one for the rest of each GPU.

    Parameters
    ----------
    channels : int
        Simulated channels of a GPU.
    mirror : bool
        One GPU stands for all.
    network : RunNetwork
        Links between the GPUs.
    """

    system: System
    channels: int
    mirror: bool
    network: RunNetwork

    def of(self, kernel: Kernel, most_work: float) -> ExtrapolatedKernel:
        """Choose the kernel itself if it takes at most ``most_work``, otherwise up to three smaller
        kernels that together take no more, or as little as possible.
        """
        if self.work(kernel) <= most_work and kernel.is_mapped:
            return ExtrapolatedKernel(kernel, kernel)
        *less_depth, depth = self._depths(kernel, most_work)
        deepest = kernel.resized(k=depth)
        *fewer_rows, rows = self._rows(deepest, most_work / (1 + len(less_depth) / 2))
        base = _with_rows(deepest, rows)
        smaller = (
            *(base.resized(m=m) for m in fewer_rows),
            *(base.resized(k=k) for k in less_depth),
        )
        return ExtrapolatedKernel(kernel, base, smaller)

    def work(self, kernel: Kernel) -> float:
        """Work of simulating one configuration of a kernel."""
        gpus = 1 if self.mirror else kernel.gpus
        link_ns = self._link_ns(kernel)
        cycles = (max(self._gemm_ns(kernel), link_ns) + link_ns) / self.system.cycle_ns
        return cycles * (self.channels + 1) * gpus

    def _gemm_ns(self, kernel: Kernel) -> float:
        return kernel.tiling.flops / self.system.peak_flops_per_ns

    def _link_ns(self, kernel: Kernel) -> float:
        """Time of a reduce-scatter, or of an all-gather, at the link's lower rate of
        payload."""
        share = (kernel.gpus - 1) / kernel.gpus
        return kernel.output_bytes * share / self.network.slowest_gb_per_s

    def _depths(self, kernel: Kernel, most_work: float) -> tuple[int, ...]:
        """Depth of the sums, or two smaller depths with which the GEMM still hides the
        reduce-scatter.
        """
        unit, depth = kernel.tiling.depth_u, kernel.tiling.k
        least = depth * _HIDDEN * self._link_ns(kernel) / self._gemm_ns(kernel)
        smallest = unit * max(1, -int(-least // unit))
        if 4 * smallest > depth:
            return (depth,)
        fitting = [
            k
            for k in range(smallest, depth // 4, unit)
            if self.work(kernel.resized(k=k)) + self.work(kernel.resized(k=2 * k)) <= most_work
        ]
        small = max(fitting, default=smallest)
        return small, 2 * small

    def _rows(self, kernel: Kernel, most_work: float) -> tuple[int, ...]:
        """Number of rows, or two smaller numbers."""
        # Without an equal cut, as many rows as give each GPU a workgroup.
        tiling, cut = kernel.tiling, kernel.chunks.cut
        least = cut[0] if cut else -(-kernel.gpus // tiling.grid_n)
        step = tiling.tile_m * least
        most = -(-tiling.m // step)

        def of(steps: int) -> Kernel:
            return _with_rows(kernel, steps * step)

        if self.work(kernel) <= most_work and kernel.is_mapped:
            return (tiling.m,)
        sizes = map(of, range(1, most))
        fitting = [one for one in sizes if self.work(one) <= 2 / 3 * most_work and one.is_mapped]
        if len(fitting) < 2:
            fitting = [of(1), of(2)]
        small, large = min(combinations(fitting, 2), key=lambda sizes: self._misfit(kernel, *sizes))
        if large.tiling.m >= tiling.m:
            return (tiling.m,)
        return small.tiling.m, large.tiling.m

    def _misfit(self, whole: Kernel, small: Kernel, large: Kernel) -> float:
        """Estimate the relative error of an extrapolation from two numbers of rows.

        A GEMM takes full rounds of workgroups, of which the extrapolation gives another number than
        the whole has.
        """
        rounds, base, fewer = (self._rounds(one) for one in (whole, large, small))
        growth = _growth(whole.tiling, large.tiling, small.tiling)
        off = abs(base + growth * (base - fewer) - rounds) / rounds
        uneven = any(whole.tiling.m % one.tiling.m for one in (small, large))
        banded = small.chunks.band == large.chunks.band == whole.chunks.band
        half = abs(small.tiling.m / large.tiling.m - 0.5)
        return float(off) + _UNLIKE * (uneven + (not banded)) + _STEP * float(growth) + _HALF * half

    def _rounds(self, kernel: Kernel) -> int:
        """Rounds of workgroups that fill the GPU."""
        gpu = self.system.gpu
        return -(-kernel.workgroups // (gpu.compute_units * gpu.workgroups_per_cu))
