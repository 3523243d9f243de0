"""Data of an atom, which several payloads carry."""

from sysmodel.lib.compiled import inlined

from ..records import Record, Words
from .layouts import DATA_WORDS

__all__ = ["copy_data", "load_data"]


@inlined
def copy_data(config: Record, to: Record, source: Record) -> None:
    """Copy an atom's data between records of different kinds, if the hardware has data."""
    if config.with_data:
        for word in range(DATA_WORDS):
            to.data[word] = source.data[word]


@inlined
def load_data(config: Record, to: Record, words: Words, at: int) -> None:
    """Load an atom's data from words of an array, if the hardware has data."""
    if config.with_data:
        for word in range(DATA_WORDS):
            to.data[word] = words[at + word]
