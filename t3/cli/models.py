"""``t3 models``."""

from sysmodel.config.workload import known_workloads
from sysmodel.runs import report

__all__ = ["models"]


def models() -> None:
    """List the known models and sublayers, with their sources."""
    report.print_models(known_workloads())
