"""Runner of the proofs, and their results."""

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from amaranth.back import rtlil

from sysmodel.lib.jobs import run_jobs
from sysmodel.lib.progress import Report, no_progress
from sysmodel.lib.yowasp import YOSYS, compile_tool

from .invariant import INVARIANT
from .proof import Mode, Proof
from .sby import Run, run_sby

__all__ = ["Result", "prove", "prove_all"]

_ROOT = Path(__file__).parents[2]
_MOST_LINES = 4
_HOLDS = {Mode.INDUCTION: "proved", Mode.BOUNDED: "bounded"}
# Waveforms of a run and their names in the output folder; the first one that exists is published.
_TRACES = {"trace.vcd": "trace.vcd", "trace_induct.vcd": "induction.vcd"}


@dataclass(frozen=True)
class Result:
    """Result of a proof.

    Attributes
    ----------
    status : str
        ``proved``; ``bounded``: holds for the first ``depth`` cycles; ``failed``: there is a
        counterexample; ``vacuous``: holds, but a cover is not reached; ``unknown``: neither proved
        nor refuted; ``timeout``; ``error``: the tools failed.
    notes : list of str
        Messages and places of the properties that failed or were not reached; for an error, the
        first lines of the log that mention it.
    trace : Path or None
        Waveform of the counterexample, or of the step that the induction cannot take.
    """

    proof: Proof
    status: str
    seconds: float
    assertions: int
    covers: int
    notes: list[str]
    trace: Path | None

    @property
    def expected(self) -> str:
        """Status of the proof if it holds."""
        return _HOLDS[self.proof.mode]

    @property
    def holds(self) -> bool:
        return self.status == self.expected

    def record(self) -> dict[str, Any]:
        """Return the result as JSON."""
        proof = self.proof
        names = ("statement", "geometry", "reason", "depth", "cover_depth")
        return {
            "proof": proof.name,
            "blocks": [block.__name__ for block in proof.blocks],
            **{name: getattr(proof, name) for name in names},
            "mode": "k-induction" if proof.mode is Mode.INDUCTION else "bounded",
            "engine": f"smtbmc {proof.solver}",
            "assertions": self.assertions,
            "covers": self.covers,
            "seconds": round(self.seconds, 1),
            "status": self.status,
            "notes": self.notes,
            "trace": None if self.trace is None else str(self.trace),
        }


def _line(source: str) -> str:
    """Convert a source of Yosys, ``FILE:LINE`` with or without columns, to a path in the repository
    and a line."""
    file, _, line = source.partition("|")[0].rpartition(":")
    path = Path(file)
    return f"{path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else path}:{line}"


def _notes(run: Run, word: str) -> list[str]:
    failed = sorted({(p.message, _line(p.source)) for p in run.properties if p.failed})
    return [f"{word}: {message or '(no message)'} ({line})" for message, line in failed]


def _log_errors(run: Run) -> list[str]:
    """First lines that mention an error or a timeout, which give the cause; else the last line."""
    lines = run.log.splitlines()
    errors = [line for line in lines if re.search("error|timeout", line, re.I)]
    return errors[:_MOST_LINES] or lines[-1:] or ["no output"]


def prove(proof: Proof, out: Path) -> Result:
    """Prove a statement and reach its covers, or find a counterexample.

    Parameters
    ----------
    out : Path
        A waveform goes to ``out / proof.name`` and replaces an older one.
    """
    begin = time.perf_counter()
    design = rtlil.convert(proof.harness(*proof.blocks), ports=[], name="top")
    waveforms = out / proof.name
    for name in _TRACES.values():
        (waveforms / name).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="t3-") as name:
        folder = Path(name)
        run = partial(run_sby, design, solver=proof.solver, timeout_s=proof.timeout_s)
        first = run(folder / "0", mode=proof.mode.value, depth=proof.depth)
        last = first
        if first.status == "PASS":
            last = run(folder / "1", mode="cover", depth=proof.cover_depth)
            status, notes = _reached(proof, last)
        elif first.status in ("FAIL", "UNKNOWN"):
            last = _refute(proof, run, folder) or first
            status = {"FAIL": "failed", "UNKNOWN": "unknown"}[last.status]
            notes = _notes(last, status)
        else:
            status, notes = first.status.lower(), _log_errors(first)
        trace = None if status in _HOLDS.values() else _publish_trace(last, waveforms)
    kinds = [one.kind for one in first.properties]
    seconds = time.perf_counter() - begin
    return Result(proof, status, seconds, kinds.count("ASSERT"), kinds.count("COVER"), notes, trace)


def _refute(proof: Proof, run: Callable[..., Run], folder: Path) -> Run | None:
    """Find a counterexample to the contract, from reset.

    A failed induction alone refutes nothing: an invariant may be wrong, or its depth too small. A
    search cycle by cycle finds the shortest counterexample, which is the easiest to read, but each
    further cycle takes longer to show free of one. Most counterexamples can be delayed to any later
    cycle, so the last cycle is checked directly after the first half, before the cycles between.
    """
    last = proof.cover_depth
    half = last // 2
    for skip, depth in ((0, half), (last - 1, last), (half, last)):
        to = folder / f"without-{skip}-{depth}"
        options = {"depth": depth, "skip": skip, "without": INVARIANT}
        if depth > skip and (refuted := run(to, mode="bmc", **options)).status == "FAIL":
            return refuted
    return None


def _reached(proof: Proof, run: Run) -> tuple[str, list[str]]:
    """Status and notes of a proof that holds, from the run of its covers."""
    if not any(one.kind == "COVER" for one in run.properties):
        return "vacuous", ["the harness covers nothing"]
    if run.status == "PASS":
        return _HOLDS[proof.mode], []
    if run.status == "FAIL":
        return "vacuous", _notes(run, "not reached")
    return run.status.lower(), _log_errors(run)


def _publish_trace(run: Run, folder: Path) -> Path | None:
    for made, name in _TRACES.items():
        if (run.traces / made).exists():
            folder.mkdir(parents=True, exist_ok=True)
            return Path(shutil.move(run.traces / made, folder / name))
    return None


def prove_all(proofs: Sequence[Proof], out: Path, progress: Report = no_progress) -> list[Result]:
    """Prove all statements, two at a time.

    Parameters
    ----------
    out : Path
        Folder of the waveforms; see :func:`prove`.

    Returns
    -------
    list of Result
        Results in the order of ``proofs``.
    """
    progress("Yosys, compiled once for this machine", 0.0)
    compile_tool(YOSYS)
    latest = f"proofs: {len(proofs)}"
    results: dict[int, Result] = {}

    def done(index: int, future: "Future[Result]") -> None:
        nonlocal latest
        results[index] = future.result()
        latest = f"{results[index].proof.name} {results[index].status}"

    def tick() -> None:
        progress(latest, len(results) / len(proofs))

    tick()
    run_jobs(prove, [(proof, out) for proof in proofs], done=done, tick=tick)
    return [results[index] for index in range(len(proofs))]
