"""Activities of a program: GEMMs, and collectives of their outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from sysmodel.collectives.schedule import Operation
from sysmodel.config.arguments import Checked
from sysmodel.config.schema import integer
from sysmodel.config.workload import LARGEST
from sysmodel.lib.errors import InputError, short

__all__ = ["Activity", "Collective", "Gemm", "Size", "title_of"]


@dataclass(frozen=True, kw_only=True)
class Size(Checked):
    """Size of a GEMM on one GPU: ``m`` by ``n`` outputs, each the sum of ``k`` products."""

    m: Annotated[int, integer(1, LARGEST["m"])]
    n: Annotated[int, integer(1, LARGEST["n"])]
    k: Annotated[int, integer(1, LARGEST["k"])]


@dataclass(frozen=True)
class Gemm:
    """GEMM on every GPU.

    Parameters
    ----------
    name : str
        Name of the activity: lower-case letters, digits and ``_``, a letter first.
    needs : sequence of str
        Activities that must have ended before.
    size : Size or None
        None stands for the workload's size. A sequence of m, n and k is a size, too.
    """

    name: str
    needs: tuple[str, ...] = ()
    size: Size | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", _names(self.name, self.needs))
        object.__setattr__(self, "size", _size(self.name, self.size))

    @property
    def kind(self) -> str:
        """Kind of the activity in files: ``gemm``."""
        return "gemm"

    @property
    def awaited(self) -> tuple[str, ...]:
        """Activities that must have ended before."""
        return self.needs


@dataclass(frozen=True)
class Collective:
    """Collective of the output of a GEMM, or of another collective.

    Parameters
    ----------
    name : str
        Name of the activity, as that of a :class:`Gemm`.
    operation : str
        ``reduce-scatter`` or ``all-reduce``, both of a GEMM, or ``all-gather`` of a reduce-scatter.
    of : str
        Activity whose output it takes.
    algorithm : str or None
        Algorithm, as ``t3 collective list`` shows them; None for that of the library on the run's
        topology. The T3 hardware runs rings.
    needs : sequence of str
        Activities beside ``of`` that must have ended before.
    """

    name: str
    operation: Operation
    of: str
    algorithm: str | None = None
    needs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", _names(self.name, self.needs))

    @property
    def kind(self) -> str:
        """Kind of the activity in files: the operation."""
        return self.operation

    @property
    def awaited(self) -> tuple[str, ...]:
        """Activities that must have ended before; of a GEMM a part is enough."""
        return self.of, *self.needs

    @property
    def reduces(self) -> bool:
        """True if the collective adds the outputs of all GPUs."""
        return self.operation != "all-gather"


Activity = Gemm | Collective


def title_of(name: str) -> str:
    """Title of an activity in tables and timelines."""
    return name.upper()


def _names(owner: str, needs: Any) -> tuple[str, ...]:
    names = (needs,) if isinstance(needs, str) else needs
    if not isinstance(names, (list, tuple)) or not all(isinstance(one, str) for one in names):
        problem = f"{short(needs)} is not allowed; allowed: names of activities"
        raise InputError(f"{owner}.needs", problem)
    return tuple(names)


def _size(owner: str, size: Any) -> Size | None:
    if size is None or isinstance(size, Size):
        return size
    if isinstance(size, Sequence) and not isinstance(size, str) and len(size) == 3:
        try:
            return Size(m=size[0], n=size[1], k=size[2])
        except InputError as error:
            raise InputError(f"{owner}.size.{error.field}", error.problem) from error
    problem = f"{short(size)} is not allowed; allowed: m, n and k, or none"
    raise InputError(f"{owner}.size", problem)
