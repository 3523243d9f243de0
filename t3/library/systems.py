"""Systems from Python."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysmodel.config.system import System, load_system

__all__ = ["system"]


def system(source: System | Mapping[str, Any] | Path | str = "asplos24") -> System:
    """Load a system: a preset, a TOML file, or a dictionary with the content of such a file.

    Every ``system=`` of this library takes the same values.

    Parameters
    ----------
    source : str, Path, mapping or System
        Name of a preset, as :func:`preset_names` lists them; path of a TOML file, which is a
        string with a ``/`` or with the suffix ``.toml``, or a ``Path``; dictionary with the keys of
        a TOML file, nested or dotted; or a system, which is returned as it is. Keys carry their
        units. ``base`` names the preset or file whose values hold where the dictionary gives none.

    Returns
    -------
    System
        Checked values, as attributes: ``system.link.bandwidth_gb_per_s``.

    Raises
    ------
    InputError
        The system is not valid; the message names the key, its value and the allowed values.

    Examples
    --------
    >>> import t3
    >>> t3.system("h200").dram.channels
    192
    >>> slow = t3.system({"base": "asplos24", "link.bandwidth_gb_per_s": 75})
    >>> slow.link.bandwidth_gb_per_s, slow.dram.channels
    (75.0, 32)
    """
    return load_system(source, field="source")
