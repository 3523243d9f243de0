"""What a seeded bug is."""

import importlib
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

__all__ = ["SeededBug"]


@dataclass(frozen=True, kw_only=True)
class SeededBug:
    """A bug that is put into a block: one segment of its source is replaced.

    Parameters
    ----------
    module, block : str
        Where the block is, as ``rtl.lib.queue``, and its class.
    fault : str
        What is wrong.
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

    def seeded(self) -> type:
        """The block with the bug, a class of its own: the original stays as it is.

        Raises
        ------
        ValueError
            The source does not have ``right`` exactly once.
        """
        original = importlib.import_module(self.module)
        loader = _PatchedSource(self.module, original.__file__ or "", self.right, self.wrong)
        spec = spec_from_loader(self.module, loader)
        assert spec is not None
        module = module_from_spec(spec)
        loader.exec_module(module)
        return getattr(module, self.block)


class _PatchedSource(SourceFileLoader):
    """Loads a module with one segment of its source replaced.

    The lines are those of the original, and so are the messages that name them.
    """

    def __init__(self, module: str, path: str, right: str, wrong: str):
        super().__init__(module, path)
        self._right, self._wrong = right, wrong

    def get_code(self, fullname: str):
        """Neither from compiled files nor into them: those are of the source as it is."""
        return self.source_to_code(self.get_data(self.path), self.path)

    def get_data(self, path: str) -> bytes:
        source = super().get_data(path).decode("utf-8")
        found = source.count(self._right)
        if found != 1:
            raise ValueError(f"{self.name} must have {self._right!r} once, not {found} times")
        return source.replace(self._right, self._wrong).encode("utf-8")
