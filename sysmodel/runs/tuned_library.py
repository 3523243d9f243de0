"""Efficiency of the GEMM in a tuned library, for comparison with the simulated GEMM."""

__all__ = ["library_efficiency"]


def library_efficiency(k: float) -> float:
    """Share of the peak that a tuned library reaches: a fit to 789 sizes with M x N of at least
    16 M of rocBLAS's fp16 kernels on gfx90a (Tensile, aldebaran_104cu)."""
    return 0.94 * k / (k + 210)
