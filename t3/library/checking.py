"""Checks with real values, from Python."""

from typing import Any

from sysmodel.runs.check_options import CheckOptions, CheckResult
from t3.report.progress import shown_progress

from .given import options_of, takes_options

__all__ = ["check"]


@takes_options(CheckOptions)
def check(**options: Any) -> CheckResult:
    """Run real values through the hardware and compare every bit with NumPy's reduction.

    Parameters
    ----------
    **options
        Fields of :class:`~sysmodel.runs.check_options.CheckOptions`.

    Returns
    -------
    CheckResult
        ``passed``, and the number of compared elements.

    Raises
    ------
    InputError
        There is no such option, or its value is not allowed.
    SimulationError
        The hardware reports an error, or the simulation makes no progress.

    Examples
    --------
    >>> import t3
    >>> t3.check(gpus=2, m=256, n=128, k=64, engine="golden").passed
    True
    """
    chosen = options_of(CheckOptions, options)
    from sysmodel.runs.check import check as compare

    with shown_progress() as progress:
        return compare(chosen, progress)
