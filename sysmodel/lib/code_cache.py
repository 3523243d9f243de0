"""Cache of one compiled function, which survives damaged files and a full disk."""

from pathlib import Path
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    UserProvidedCacheLocator,
)

from .cache import report_not_stored
from .code_folder import code_folder

__all__ = ["CodeCache"]


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc]
    """Place of a function in the folder of its module."""

    def __init__(self, function: Any, file: str):
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._cache_path = str(code_folder(function.__module__))

    @classmethod
    def from_function(cls, function: Any, file: str) -> "_Locator":
        """Locate a function, also if its code cannot be stored."""
        return cls(function, file)


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]
    """Access to the code of a function."""

    _locator_classes = (_Locator,)


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    """Files of a function, of which a damaged one is removed and made again."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except OSError:
            return {}
        except Exception:
            Path(self._index_path).unlink(missing_ok=True)
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            return super()._load_data(name)
        except OSError:
            raise
        except Exception as error:
            Path(self._data_path(name)).unlink(missing_ok=True)
            raise FileNotFoundError(name) from error  # Numba compiles the function


class CodeCache(FunctionCache):  # type: ignore[misc]
    """Cache of a function: code that cannot be stored is compiled again by the next process."""

    _impl_class = _Implementation

    def __init__(self, function: Any):
        super().__init__(function)
        self._cache_file = _Files(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def save_overload(self, signature: Any, code: Any) -> None:
        """Store the code of a signature, or report that it cannot be stored."""
        try:
            super().save_overload(signature, code)
        except OSError as error:
            folder = str(Path(self.cache_path).parent)
            report_not_stored(f"the cache folder {folder!r} cannot be written ({error.strerror})")
