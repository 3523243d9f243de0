"""RTL compiled to a shared library, stepped from compiled loops."""

from .build import NoCompilerError, build, build_component
from .call import call_step
from .engine import Engine, Instance, Trace

__all__ = [
    "Engine",
    "Instance",
    "NoCompilerError",
    "Trace",
    "build",
    "build_component",
    "call_step",
]
