"""The hardware as Verilog, from Python."""

import re
import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rtl.export.reset_style import RESET_STYLES, ResetStyle
from sysmodel.config.arguments import checked, checked_path
from sysmodel.config.schema import one_of, text
from sysmodel.config.system import System, load_system
from sysmodel.lib.collector import collects_rarely
from sysmodel.lib.errors import InputError
from sysmodel.lib.output import OutputFolder
from t3.report.progress import shown_progress

if TYPE_CHECKING:
    from rtl.parameters import T3Parameters

__all__ = ["export", "hardware_of"]


def export(
    out: Path | str,
    *,
    system: "System | Mapping[str, Any] | Path | str" = "asplos24",
    with_links: bool = False,
    ports: int = 0,
    reset: ResetStyle = "synchronous",
    name: str = "t3",
    **parameters: Any,
) -> list[Path]:
    """Write Verilog of the hardware of one GPU of a system, as ``t3 export`` does.

    Parameters
    ----------
    out : path
        Folder for the files.
    system : System, mapping, path or str
        See :func:`t3.system`.
    with_links : bool
        The top has its link endpoints inside.
    ports : int
        With at least 1, also write the links of fully connected GPUs with this number of ports, as
        a module of its own.
    reset : str
        Reset style of all registers: ``synchronous``, ``asynchronous`` or ``none``.
    name : str
        Name of the top, with which the names of all modules and files begin.
    **parameters
        Fields of :class:`~rtl.parameters.T3Parameters` that replace the system's values, such as
        ``channels`` (all of the system's), ``contexts`` (2) or ``with_data`` (true).

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        A value that cannot be used.

    Examples
    --------
    >>> import tempfile, t3
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = t3.export(folder, channels=1, with_data=False)
    >>> "manifest.json" in [file.name for file in files]
    True
    """
    from amaranth.hdl import UnusedElaboratable

    from driver.c import c_driver
    from rtl.export.files import export_files
    from sysmodel.engine.hardware import link_parameters, port_parameters

    folder_path = checked_path("out", out)
    reset = checked("reset", reset, Annotated[ResetStyle, one_of(RESET_STYLES)])
    name = checked("name", name, Annotated[str, text()])
    with_links = checked("with_links", with_links, bool)
    ports = checked("ports", ports, int)
    loaded = load_system(system)
    # A value that no register can hold is detected while a component is built, which stays unused.
    with (
        OutputFolder(folder_path, (f"{name}.v", "manifest.json")) as folder,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UnusedElaboratable)
        try:
            p = hardware_of(loaded, parameters)
            link = link_parameters(loaded, p) if with_links else None
            beside = {"mesh": port_parameters(loaded, p, ports)} if ports else {}
            with shown_progress() as progress, collects_rarely():
                files = export_files(
                    p, name, progress, link=link, reset=reset, software=c_driver(), **beside
                )
        except InputError:
            raise
        except ValueError as error:
            raise _input_error(error, f"hardware of {loaded.name}") from error
        return folder.write(files)


def hardware_of(system: "System", given: Mapping[str, Any]) -> "T3Parameters":
    """Parameters of a system's hardware: all channels, two contexts with all their peers, data, and
    the given ones.

    Raises
    ------
    InputError
        No parameter has the name, or the memory is too fast for data.
    ValueError
        A parameter cannot have this value.
    """
    from rtl.parameters import T3Parameters
    from sysmodel.engine.hardware import hardware_parameters

    known = {field.name: type(field.default) for field in fields(T3Parameters)}
    for name in given:
        if name not in known:
            raise InputError(name, f"no such parameter; allowed: {', '.join(known)}")
    given = {name: checked(name, value, known[name]) for name, value in given.items()}
    # Further parameters of the system follow from these.
    basic: dict[str, Any] = {"channels": system.dram.channels, "contexts": 2, "with_data": True}
    basic |= {name: value for name, value in given.items() if name in basic}
    return replace(hardware_parameters(system, **basic), **{"peers": T3Parameters().peers} | given)


def _input_error(error: ValueError, otherwise: str) -> InputError:
    """Make the error of the parameter that the first word of the hardware's message names."""
    rule = re.fullmatch(r"(\w+) (must .*)", str(error), re.DOTALL)
    return InputError(rule[1].lower(), rule[2]) if rule else InputError(otherwise, str(error))
