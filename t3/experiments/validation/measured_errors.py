"""Errors of the presets beside measured GPUs, by kind of measurement."""

from collections.abc import Mapping, Sequence
from statistics import mean

from sysmodel.config.system import load_system
from t3.experiments.measured.comparison import Compared
from t3.experiments.measured.measurement import COLLECTIVES, KINDS, STREAMS, Measurement

from .preset_errors import PresetError, values_digest

__all__ = ["errors_of", "kind_of"]

_SMALL_BYTES = 4 << 20  # up to here the library's fixed costs decide a collective's time


def _place(one: Measurement) -> tuple[int, int]:
    return KINDS.index(one.kind), one.message_bytes


def kind_of(one: Measurement) -> str:
    """Kind of a measurement for the table of errors."""
    if one.kind in STREAMS:
        return "memory streams"
    if one.kind not in COLLECTIVES:
        return one.name
    return f"{one.name} {'up to' if one.message_bytes <= _SMALL_BYTES else 'above'} 4 MiB"


def errors_of(compared: Mapping[str, Sequence[Compared]]) -> list[PresetError]:
    """Errors by preset and kind, of comparisons by preset."""
    found = []
    for preset, rows in compared.items():
        digest = values_digest(load_system(preset))
        ordered = sorted((one.measurement for one in rows), key=_place)
        for kind in dict.fromkeys(map(kind_of, ordered)):
            shares = [one.difference for one in rows if kind_of(one.measurement) == kind]
            found.append(
                PresetError(
                    preset,
                    kind,
                    len(shares),
                    mean(shares),
                    mean(map(abs, shares)),
                    max(shares, key=abs),
                    digest,
                )
            )
    return found
