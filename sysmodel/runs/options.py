"""Options of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from sysmodel.config.arguments import Checked
from sysmodel.config.schema import integer, one_of
from sysmodel.lib.errors import InputError

from .configurations import registry
from .engines import ENGINES, EngineName
from .program.files import DEFAULT_PROGRAM, load_program
from .program.program import Program

if TYPE_CHECKING:
    from sysmodel.config.system import System

__all__ = [
    "CONFIGURATIONS",
    "DEFAULT_CONFIGURATIONS",
    "GPUS",
    "ChannelCount",
    "RunOptions",
    "SimulatedGpus",
]

SimulatedGpus = Literal["mirror", "all"]
ChannelCount = int | Literal["auto", "all"]
GPUS: tuple[SimulatedGpus, ...] = get_args(SimulatedGpus)
CONFIGURATIONS = tuple(name for name, one in registry.CONFIGURATIONS.items() if one.listed)
DEFAULT_CONFIGURATIONS = tuple(name for name, one in registry.CONFIGURATIONS.items() if one.default)
# Amaranth numbers 65,535 bits of a module's inputs, and a channel of the top has 280.
_MOST_RTL_CHANNELS = 128
_LARGEST_WAVES = 1_000_000
_LARGEST_SEED = (1 << 32) - 1
_MOST_REPETITIONS = 1000


def _listed(name: str) -> str:
    if name not in CONFIGURATIONS:
        raise PydanticCustomError("configuration", "no configuration")
    return name


def _as_tuple(value: Any) -> Any:
    """Make a tuple of a list, or of a single word."""
    return (
        tuple(value) if isinstance(value, list) else (value,) if isinstance(value, str) else value
    )


ConfigurationName = Annotated[str, AfterValidator(_listed)]
ConfigurationNames = Annotated[
    tuple[ConfigurationName, ...],
    Field(description=", ".join(CONFIGURATIONS)),
    BeforeValidator(_as_tuple),
]
Channels = Annotated[
    Annotated[int, Field(ge=1)] | Literal["auto", "all"],
    Field(description="1 or more, auto, or all"),
]
if TYPE_CHECKING:
    _Program = Program
else:
    _Program = Any  # a program or its source, which is loaded and checked
_Waves = Annotated[tuple[int, int], BeforeValidator(_as_tuple)]


@dataclass(frozen=True, kw_only=True)
class RunOptions(Checked):
    """Options for the simulation of a workload.

    Parameters
    ----------
    engine : str
        Engine of the T3 hardware: ``rtl``, the compiled Verilog, or ``golden``, the model in Numba,
        which needs no compiler.
    channels : int, "auto" or "all"
        Memory channels to simulate. With a uniform interleave a few channels represent all;
        ``auto`` takes the fewest that do, or with the golden engine as many as are little work.
    gpus : str
        GPUs to simulate: ``mirror``, one GPU that represents all and whose egress feeds its own
        ingress, or ``all``. Where chunks differ, ``mirror`` simulates all, too.
    configurations : sequence of str
        Configurations to compare: some of ``CONFIGURATIONS``, each once.
    program : Program, str, Path or mapping
        Activities of the run: a program, the name of a bundled one, the path of a TOML file, or the
        content of such a file.
    repeat : int
        Repetitions. The first has no variation; the others vary launches and buffers as a real
        machine does.
    seed : int
        Seed for the variation between repetitions, and for every other random choice.
    waves : tuple of int or None
        First and last memory cycle of a waveform; RTL engine only.
    waves_file : Path or None
        File of the waveform.

    Raises
    ------
    InputError
        A value is not allowed.
    """

    engine: Annotated[EngineName, one_of(ENGINES)] = "rtl"
    channels: Channels = "auto"
    gpus: Annotated[SimulatedGpus, one_of(GPUS)] = "mirror"
    configurations: ConfigurationNames = DEFAULT_CONFIGURATIONS
    program: _Program = DEFAULT_PROGRAM  # type: ignore[assignment]
    repeat: Annotated[int, integer(1, _MOST_REPETITIONS)] = 1
    seed: Annotated[int, integer(0, _LARGEST_SEED)] = 0
    waves: Annotated[
        _Waves | None, Field(description="two memory cycles, the first and the last")
    ] = None
    waves_file: Annotated[Path | None, Field(strict=False, description="a path")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "program", load_program(self.program))
        if not self.configurations:
            problem = f"none given; allowed: some of {', '.join(CONFIGURATIONS)}"
            raise InputError("configurations", problem)
        if len(set(self.configurations)) < len(self.configurations):
            raise InputError("configurations", "each may be named once")
        if self.waves is not None:
            first, last = self.waves
            if not 0 <= first < last <= first + _LARGEST_WAVES:
                raise InputError(
                    "waves",
                    f"{first}:{last} is not allowed; allowed: A:B with 0 <= A < B, "
                    f"at most {_LARGEST_WAVES} cycles",
                )
            if self.engine != "rtl":
                raise InputError("waves", "a waveform needs the engine rtl")

    @property
    def tracks(self) -> bool:
        """True if T3 tracks the GEMM in some configuration."""
        names = registry.evaluation_order(self.configurations)
        return any(registry.CONFIGURATIONS[name].tracked for name in names)

    def channels_of(self, system: "System") -> int | Literal["auto"]:
        """Number of channels of a system to simulate, unless it is to be chosen.

        Raises
        ------
        InputError
            The system has fewer channels, the number splits channels that share a command bus, or
            the engine's hardware cannot have so many.
        """
        most, together = system.dram.channels, system.dram.pseudo_channels
        if self.channels == "auto":
            return "auto"
        if self.channels == "all":
            return self.buildable(most)
        if self.channels > most or self.channels % together:
            multiple = (
                f"{together} to {most} in steps of {together}" if together > 1 else f"1 to {most}"
            )
            raise InputError(
                "channels",
                f"{self.channels} is not allowed; allowed: {multiple} (dram.channels of "
                f"{system.name}), auto, or all",
            )
        return self.buildable(self.channels)

    def buildable(self, channels: int) -> int:
        """Return the number of channels if the engine's hardware can have so many.

        Raises
        ------
        InputError
            The hardware of the RTL engine cannot be built with so many channels.
        """
        if self.engine == "rtl" and channels > _MOST_RTL_CHANNELS:
            raise InputError(
                "channels",
                f"{channels} are not allowed with the RTL engine; allowed: up to "
                f"{_MOST_RTL_CHANNELS}, or the golden engine, which gives the same results",
            )
        return channels
