"""Data mode from Python."""

from dataclasses import fields
from typing import Any

from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import shown_progress
from sysmodel.runs.check_options import CheckOptions, CheckResult

__all__ = ["check"]


def check(**options: Any) -> CheckResult:
    """Run real values through the hardware and compare every bit with NumPy's reduction.

    Parameters
    ----------
    **options
        As :class:`~sysmodel.runs.check_options.CheckOptions` has them: ``gpus``, ``m``, ``n``,
        ``k``, ``dtype``, ``contexts``, ``granularity``, ``engine``, ``channels``, ``skew`` and
        ``back_pressure`` (percent), ``seed``.

    Returns
    -------
    CheckResult
        ``passed``, and what was compared.

    Raises
    ------
    InputError
        An option that there is not, or a value that is not allowed.
    SimulationError
        The hardware reported an error, or nothing moves any more.

    Examples
    --------
    >>> import t3
    >>> t3.check(gpus=2, m=256, n=128, k=64, engine="golden").passed
    True
    """
    known = [field.name for field in fields(CheckOptions)]
    for name in options:
        if name not in known:
            raise InputError(name, f"no such option; allowed: {', '.join(known)}")
    chosen = CheckOptions(**options)
    # It brings Numba, for which `import t3` shall not wait.
    from sysmodel.runs.check import check as compare

    with shown_progress() as progress:
        return compare(chosen, progress)
