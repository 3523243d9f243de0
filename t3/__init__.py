"""T3: transparent tracking and triggering."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("t3")
