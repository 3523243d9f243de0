"""The hardware as Verilog, from Python."""

import warnings
from pathlib import Path

from rtl.export.reset_style import ResetStyle
from sysmodel.config.system import System
from sysmodel.lib.errors import InputError
from sysmodel.lib.output import OutputFolder
from sysmodel.lib.progress import shown_progress

from .systems import as_system

__all__ = ["export"]


def export(
    out: Path | str,
    *,
    system: System | Path | str = "asplos24",
    channels: int | None = None,
    contexts: int = 2,
    with_data: bool = True,
    with_links: bool = False,
    reset: ResetStyle = "synchronous",
    name: str = "t3",
) -> list[Path]:
    """Write Verilog of the hardware of one GPU of a system, as ``t3 export`` does.

    Parameters
    ----------
    out : path
        Folder for the files.
    system : System, path or str
        As in :func:`t3.run`.
    channels : int, optional
        Memory channels that it serves; all of the system's if not given.
    contexts : int
        Programs that run at the same time.
    with_data : bool
        A channel carries values; without it the same hardware moves addresses and tags only.
    with_links : bool
        The top has its link endpoints inside.
    reset : str
        Of the registers: ``synchronous``, ``asynchronous`` or ``none``.
    name : str
        Of the top, with which all modules and files begin.

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
    # They bring Amaranth, for which `import t3` shall not wait.
    from amaranth.hdl import UnusedElaboratable

    from rtl.export.files import export_files
    from sysmodel.engine.hardware import hardware_parameters, link_parameters

    loaded = as_system(system)
    # What no register can hold is found while a component is made, which then stays unused.
    with (
        OutputFolder(Path(out), (f"{name}.v", "manifest.json")) as folder,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UnusedElaboratable)
        try:
            p = hardware_parameters(
                loaded,
                channels=loaded.dram.channels if channels is None else channels,
                contexts=contexts,
                with_data=with_data,
            )
            link = link_parameters(loaded, p) if with_links else None
            with shown_progress() as progress:
                files = export_files(p, name, progress, link=link, reset=reset)
        except InputError:
            raise
        except ValueError as error:
            raise InputError(f"hardware of {loaded.name}", str(error)) from error
        return folder.write(files)
