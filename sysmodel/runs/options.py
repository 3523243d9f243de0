"""Options of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from sysmodel.lib.errors import InputError

from .configurations import registry
from .engines import ENGINES, EngineName

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


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options for the simulation of a workload.

    Parameters
    ----------
    engine : str
        Engine of the T3 hardware: ``rtl``, the compiled Verilog, or ``golden``, the model in Numba,
        which needs no compiler.
    channels : int, "auto" or "all"
        Memory channels to simulate. With a uniform interleave a few channels represent all;
        ``auto`` takes the fewest that do.
    gpus : str
        GPUs to simulate: ``mirror``, one GPU that represents all and whose egress feeds its own
        ingress, or ``all``.
    configurations : tuple of str
        Configurations to compare: some of ``CONFIGURATIONS``, each once.
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

    engine: EngineName = "rtl"
    channels: ChannelCount = "auto"
    gpus: SimulatedGpus = "mirror"
    configurations: tuple[str, ...] = DEFAULT_CONFIGURATIONS
    repeat: int = 1
    seed: int = 0
    waves: tuple[int, int] | None = None
    waves_file: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "configurations", tuple(self.configurations))
        _one_of("engine", self.engine, ENGINES)
        _one_of("gpus", self.gpus, GPUS)
        if self.channels not in ("auto", "all") and (
            not isinstance(self.channels, int) or self.channels < 1
        ):
            raise InputError(
                "channels", f"{self.channels!r} is not allowed; allowed: 1 or more, auto, or all"
            )
        if not self.configurations:
            raise InputError(
                "configurations", f"none given; allowed: some of {', '.join(CONFIGURATIONS)}"
            )
        for name in self.configurations:
            _one_of("configurations", name, CONFIGURATIONS)
        if len(set(self.configurations)) < len(self.configurations):
            raise InputError("configurations", "each may be named once")
        if not 0 <= self.seed <= _LARGEST_SEED:
            raise InputError(
                "seed", f"{self.seed} is not allowed; allowed: an integer from 0 to {_LARGEST_SEED}"
            )
        if not 1 <= self.repeat <= _MOST_REPETITIONS:
            raise InputError(
                "repeat",
                f"{self.repeat} is not allowed; allowed: an integer from 1 to {_MOST_REPETITIONS}",
            )
        if self.waves is not None:
            first, last = self.waves
            if not 0 <= first < last <= first + _LARGEST_WAVES:
                raise InputError(
                    "waves",
                    f"{first}:{last} is not allowed; allowed: A:B with 0 <= A < B, "
                    f"at most {_LARGEST_WAVES} cycles",
                )
            if self.engine != "rtl":
                raise InputError("waves", "a waveform needs --engine rtl")

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
                f"{_MOST_RTL_CHANNELS}, or the golden engine, which has the same cycles",
            )
        return channels


def _one_of(field_name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(field_name, f"{value!r} is not allowed; allowed: {', '.join(allowed)}")
