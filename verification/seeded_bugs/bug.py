"""Description of a seeded bug, and the class of a block that has it."""

import importlib
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

__all__ = ["SeededBug"]


@dataclass(frozen=True, kw_only=True)
class SeededBug:
    """Seeded bug of a block: one segment of its source is replaced.

    Parameters
    ----------
    module, block : str
        Module of the block, for example ``rtl.lib.queue``, and its class.
    fault : str
        Wrong behaviour, as a sentence without its subject or with the affected noun.
    right, wrong : str
        Segment that occurs once in the source, and its replacement.
    """

    module: str
    block: str
    fault: str
    right: str
    wrong: str

    @property
    def original(self) -> type:
        """Class of the unchanged block."""
        return getattr(importlib.import_module(self.module), self.block)

    def seeded(self) -> type:
        """Make a class of the block with the bug; the original stays unchanged.

        Raises
        ------
        ValueError
            If ``right`` does not occur exactly once in the source.
        """
        original = importlib.import_module(self.module)
        loader = _PatchedSource(self.module, original.__file__ or "", self.right, self.wrong)
        spec = spec_from_loader(self.module, loader)
        assert spec is not None
        module = module_from_spec(spec)
        loader.exec_module(module)
        return getattr(module, self.block)


class _PatchedSource(SourceFileLoader):
    """Loader of a module with one segment of its source replaced.

    Line numbers stay the same, also in messages.
    """

    def __init__(self, module: str, path: str, right: str, wrong: str):
        super().__init__(module, path)
        self._right, self._wrong = right, wrong

    def get_code(self, fullname: str):
        """Compile the patched source; the cache of compiled files holds the original."""
        return self.source_to_code(self.get_data(self.path), self.path)

    def get_data(self, path: str) -> bytes:
        source = super().get_data(path).decode("utf-8")
        found = source.count(self._right)
        if found != 1:
            raise ValueError(f"{self.name} must have {self._right!r} once, not {found} times")
        return source.replace(self._right, self._wrong).encode("utf-8")
