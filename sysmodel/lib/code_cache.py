"""Cache of one compiled function, which survives damaged files and a full disk."""

from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

from .cache import report_not_stored

__all__ = ["CodeCache"]


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

    def __init__(self, function: Any):
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _Files(
            cache_path=locator.get_cache_path(),
            filename_base=self._impl.filename_base,
            source_stamp=locator.get_source_stamp(),
        )

    def save_overload(self, signature: Any, code: Any) -> None:
        """Store the code of a signature, or report that it cannot be stored."""
        try:
            super().save_overload(signature, code)
        except OSError as error:
            folder = str(Path(self.cache_path).parent)
            report_not_stored(f"the cache folder {folder!r} cannot be written ({error.strerror})")
