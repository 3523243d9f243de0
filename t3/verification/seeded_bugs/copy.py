"""What a broken copy is."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

__all__ = ["BrokenCopy"]


@dataclass(frozen=True, kw_only=True)
class BrokenCopy:
    """A block with one segment of its source replaced.

    Parameters
    ----------
    module, block : str
        Where the block is, as ``rtl.lib.queue``, and its class.
    fault : str
        What is broken.
    right, wrong : str
        A segment that the source has once, and what stands in its place.
    """

    module: str
    block: str
    fault: str
    right: str
    wrong: str

    @property
    def original(self) -> type:
        """The block as it is."""
        return getattr(importlib.import_module(self.module), self.block)

    def copy(self) -> type:
        """The broken block. The original stays as it is.

        Raises
        ------
        ValueError
            The source does not have ``right`` exactly once.
        """
        original = importlib.import_module(self.module)
        path = Path(original.__file__ or "")
        source = path.read_text(encoding="utf-8")
        found = source.count(self.right)
        if found != 1:
            raise ValueError(f"{self.module} must have {self.right!r} once, not {found} times")
        broken = ModuleType(self.module)
        broken.__package__ = original.__package__
        # Lines are those of the original, and so are the messages that name them.
        broken.__file__ = original.__file__
        exec(compile(source.replace(self.right, self.wrong), str(path), "exec"), vars(broken))
        return getattr(broken, self.block)
