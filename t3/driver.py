"""The driver, under its public name; see :mod:`sysmodel.driver`."""

from sysmodel.driver import *  # noqa: F403
from sysmodel.driver import __all__ as __all__
