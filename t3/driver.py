"""The driver, under its public name; see :mod:`driver.python`."""

from driver.python import *  # noqa: F403
from driver.python import __all__ as __all__
