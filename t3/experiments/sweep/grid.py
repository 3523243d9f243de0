"""Grids: cross products of workloads, systems and run options, with every point checked."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any

from sysmodel.config.arguments import checked, plain
from sysmodel.config.model import Model, load_model
from sysmodel.config.schema import one_of, read_toml, validate
from sysmodel.config.system import System, load_system
from sysmodel.config.topology import load_topology
from sysmodel.config.workload import Workload, custom_gemm
from sysmodel.lib.errors import InputError
from sysmodel.runs.engines import ENGINES, EngineName
from sysmodel.runs.options import CONFIGURATIONS, RunOptions
from sysmodel.runs.program.files import DEFAULT_PROGRAM, load_program
from sysmodel.runs.program.program import Program

from .axes import Block, GridFile
from .point import Point

__all__ = ["MOST_POINTS", "Grid", "load_grid", "make_grid"]

MOST_POINTS = 100_000
_DEFAULT_BASE = "asplos24"

_Place = tuple[Any, ...]  # a point's coordinates


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Distinct points, in the order of the table.

    Parameters
    ----------
    system_keys : tuple of str
        Dotted keys of the system that any block sets; each is a column of the table.
    duplicates : int
        Number of repeated points, which are left out.
    blocks : list of dict
        Axes of each block, with their defaults, for ``sweep.json``.
    """

    title: str
    system_keys: tuple[str, ...]
    points: tuple[Point, ...]
    duplicates: int
    blocks: list[dict[str, Any]]


def load_grid(path: Path | str, *, engine: EngineName | None = None) -> Grid:
    """Read a grid and check all its points.

    Parameters
    ----------
    path : Path or str
        TOML file; docs/sweeps.md describes its format.
    engine : "rtl" or "golden", optional
        Replaces the engines that the file names.

    Raises
    ------
    InputError
        A value is not allowed; one line names the file, the key, the value and the allowed values.
    """
    path = Path(path)
    return make_grid(read_toml(path), where=str(path), folder=path.parent, engine=engine)


def make_grid(
    data: Mapping[str, Any], *, where: str, folder: Path, engine: EngineName | None = None
) -> Grid:
    """Make a grid from data and check all its points.

    Parameters
    ----------
    data : mapping
        Content of a grid's TOML file.
    where : str
        Name of the grid in messages.
    folder : Path
        Folder to which paths in the grid are relative.
    engine : "rtl" or "golden", optional
        Replaces the engines that the data names.

    Raises
    ------
    InputError
        A value is not allowed; one line names the key, the value and the allowed values.
    """
    if engine is not None:
        engine = checked("engine", engine, Annotated[EngineName, one_of(ENGINES)])
    file = validate(GridFile, plain(data), where)
    blocks = file.grid
    if engine is not None:
        blocks = [
            block.model_copy(update={"run": block.run.model_copy(update={"engine": [engine]})})
            for block in blocks
        ]
    expansions = [_Expansion(block, f"{where}: grid.{i}", folder) for i, block in enumerate(blocks)]
    count = sum(one.count for one in expansions)
    if count > MOST_POINTS:
        raise InputError(f"{where}: grid", f"makes {count} points; allowed: up to {MOST_POINTS}")
    keys = tuple(dict.fromkeys(key for one in expansions for key in one.axes))
    merged: dict[_Place, Point] = {}
    names_program = any(one.names_program for one in expansions)
    for one in expansions:
        for point in one.points(names_program):
            _add(merged, point, keys, one.where)
    return Grid(
        title=file.title,
        system_keys=keys,
        points=tuple(merged.values()),
        duplicates=count - len(merged),
        blocks=[one.resolved for one in expansions],
    )


def _add(merged: dict[_Place, Point], point: Point, keys: tuple[str, ...], where: str) -> None:
    """Add a point; a repeated point adds its configurations to the first."""
    place = tuple(point.coordinates(keys).values())
    there = merged.setdefault(place, point)
    if there is point:
        return
    if there.identity != point.identity:
        raise InputError(
            where,
            f"{point.workload.title} on {point.system.name} is given with two seeds, or on two "
            "systems or topologies of one name, which the table could not distinguish; a file has "
            "the name before .toml, and a table of values the name custom",
        )
    asked = {*there.options.configurations, *point.options.configurations}
    if len(asked) > len(there.options.configurations):
        both = tuple(name for name in CONFIGURATIONS if name in asked)
        merged[place] = replace(there, options=replace(there.options, configurations=both))


class _Expansion:
    """Expansion of a block to its points."""

    def __init__(self, block: Block, where: str, folder: Path):
        self.where, self._folder = where, folder
        self._work, self._run = block.workload, block.run
        self.axes = {key: values for key, values in block.system.items() if key != "base"}
        self._bases = block.system.get("base", [_DEFAULT_BASE])

    @cached_property
    def _models(self) -> dict[str, Model]:
        with _within(f"{self.where}.workload"):
            models: dict[str, Model] = {}
            for source in self._work.model:
                model = load_model(source, self._folder)
                if models.setdefault(model.name, model) != model:
                    raise InputError("model", f"two models have the name {model.name!r}")
        return models

    @property
    def _degrees(self) -> dict[str, list[int]]:
        """Degrees of tensor parallelism of each model."""
        return {name: self._work.tp or one.tensor_parallel for name, one in self._models.items()}

    @property
    def _tokens(self) -> list[int | None]:
        """Numbers of tokens; None for the model's batch."""
        return [*self._work.tokens] or [None]

    @property
    def _layers(self) -> dict[str, list[str]]:
        """Sublayers of each model."""
        return {name: self._work.layer or [*one.reduced] for name, one in self._models.items()}

    @property
    def count(self) -> int:
        work, run = self._work, self._run
        sizes = len(work.m) * len(work.n) * len(work.k) * len(work.tp)
        systems = len(self._bases) * prod(map(len, self.axes.values()))
        runs = len(run.engine) * len(run.channels) * len(run.gpus) * max(1, len(run.program))
        named = sum(len(self._degrees[name]) * len(self._layers[name]) for name in self._degrees)
        named *= max(1, len(work.tokens))
        return (sizes or named) * len(work.dtype) * systems * runs

    @property
    def resolved(self) -> dict[str, Any]:
        sizes = self._work.model_dump(include={"m", "n", "k", "tp", "dtype"})
        named: dict[str, Any] = {"dtype": self._work.dtype}
        named |= {"tp_of_model": self._degrees, "layer_of_model": self._layers}
        if self._work.tokens:
            named["tokens"] = self._work.tokens
        return {
            "workload": sizes if self._work.m else named,
            "system": {"base": [*map(_name, self._bases)], **self.axes},
            "run": {
                **self._run.model_dump(exclude={"program"}),
                **({"program": [one.name for one in self._programs]} if self.names_program else {}),
            },
        }

    @property
    def names_program(self) -> bool:
        """True if the block chooses the program."""
        return bool(self._run.program)

    @cached_property
    def _programs(self) -> list[Program]:
        with _within(f"{self.where}.run"):
            return [
                load_program(source, beside=self._folder)
                for source in self._run.program or [DEFAULT_PROGRAM]
            ]

    def points(self, names_program: bool) -> Iterator[Point]:
        """Yield all points; the run options vary fastest, the workload slowest."""
        systems, options = list(self._systems()), list(self._options())
        for work in self._workloads():
            sound: set[str] = set()  # kernels that can compute the workload; each is made once
            for system, how in product(systems, options):
                point = Point(
                    workload=work, system=system, options=how, names_program=names_program
                )
                with self._naming(point):
                    network = system.topology, system.collective.algorithm
                    made = repr((system.kernel, system.t3, network, how.tracks, how.program))
                    if made not in sound:
                        _make_kernels(point)
                        sound.add(made)
                yield point

    def _workloads(self) -> Iterator[Workload]:
        work = self._work
        with _within(f"{self.where}.workload"):
            for name, model in self._models.items():
                axes = self._degrees[name], self._layers[name], self._tokens
                for tp, layer, tokens, dtype in product(*axes, work.dtype):
                    yield model.workload(layer, tp, tokens, dtype)
            for m, n, k, tp, dtype in product(work.m, work.n, work.k, work.tp, work.dtype):
                yield custom_gemm(m, n, k, tp, dtype)

    def _systems(self) -> Iterator[System]:
        for base in self._bases:
            system = load_system(base, field=f"{self.where}.system.base", beside=self._folder)
            for values in product(*self.axes.values()):
                yield self._changed(system, dict(zip(self.axes, values, strict=True)))

    def _changed(self, system: System, changes: dict[str, Any]) -> System:
        """Replace the values at some dotted keys of a system, and check the result."""
        if not changes:
            return system
        data = system.model_dump()
        for key, value in changes.items():
            if key == "topology":
                field = f"{self.where}.system.topology"
                value = load_topology(value, field=field, beside=self._folder)
            *sections, last = key.split(".")
            section = data
            for name in sections:
                section[name] = section[name] or {}  # an optional section that the base leaves out
                section = section[name]
            section[last] = value
        try:
            return validate(System, data, system.name)
        except InputError as error:
            field = error.field.removeprefix(f"{system.name}: ")
            if any(f"{field}.".startswith(f"{key}.") for key in changes):
                raise InputError(f"{self.where}.system.{field}", error.problem) from error
            given = ", ".join(f"{key} = {value}" for key, value in changes.items())
            raise InputError(
                f"{self.where}.system", f"with {given}: {field}: {error.problem}"
            ) from error

    def _options(self) -> Iterator[RunOptions]:
        run = self._run
        with _within(f"{self.where}.run"):
            axes = self._programs, run.engine, run.channels, run.gpus
            for program, engine, channels, gpus in product(*axes):
                yield RunOptions(
                    program=program,
                    engine=engine,
                    channels=channels,
                    gpus=gpus,
                    configurations=tuple(run.configurations),
                    seed=run.seed,
                )

    @contextmanager
    def _naming(self, point: Point) -> Iterator[None]:
        """Add the point's name to errors."""
        with _within(f"{self.where}.run"):
            point.options.channels_of(point.system)
        try:
            yield
        except ValueError as error:
            raise InputError(self.where, f"{point.title(tuple(self.axes))}: {error}") from error


def _name(base: System | Path | str) -> str:
    return base.name if isinstance(base, System) else str(base)


def _make_kernels(point: Point) -> None:
    """Check that the kernel can compute the workload, that the hardware can track it, and that the
    topology has the links for it."""
    from sysmodel.machine.tiling import kernel_of, launches  # imports Numba
    from sysmodel.runs.run_network import RunNetwork

    RunNetwork(point.system, point.workload.tp)
    program = point.options.program
    for chain in program.chains:
        work = program.workload_of(chain.gemm, point.workload)
        make = launches if point.options.tracks and chain.collectives else kernel_of
        make(point.system, work.m, work.n, work.k, work.tp)


@contextmanager
def _within(where: str) -> Iterator[None]:
    """Add the key in the grid to errors."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}.{error.field}", error.problem) from error
