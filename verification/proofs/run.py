"""Runs proofs, and says what they gave."""

import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from amaranth.back import rtlil

from sysmodel.lib.progress import Report, no_progress
from sysmodel.lib.yowasp import YOSYS, compile_tool

from .invariant import INVARIANT
from .proof import Mode, Proof
from .sby import Run, run_sby

__all__ = ["Result", "prove", "prove_all"]

_ROOT = Path(__file__).parents[2]
_AT_A_TIME = 2
_MOST_LINES = 4
_HOLDS = {Mode.INDUCTION: "proved", Mode.BOUNDED: "bounded"}
# Traces of a run, by what they are called afterwards; the first one that exists is kept.
_TRACES = {"trace.vcd": "trace.vcd", "trace_induct.vcd": "induction.vcd"}


@dataclass(frozen=True)
class Result:
    """What a proof gave.

    Attributes
    ----------
    proof : Proof
    status : str
        ``proved``; ``bounded``: holds for the first ``depth`` cycles; ``failed``: there is a
        counterexample; ``vacuous``: holds, but a cover is not reached; ``unknown``: neither proved
        nor refuted; ``timeout``; ``error``: the tools failed.
    seconds : float
    assertions, covers : int
    notes : list of str
        What failed or was not reached, and where; of an error, the log's first lines about it.
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
        """The status that is wanted."""
        return _HOLDS[self.proof.mode]

    @property
    def holds(self) -> bool:
        return self.status == self.expected

    def record(self) -> dict[str, Any]:
        """As JSON."""
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
    """File and line, from the repository on; of a source as Yosys gives it: ``FILE:LINE``, and
    columns perhaps."""
    file, _, line = source.partition("|")[0].rpartition(":")
    path = Path(file)
    return f"{path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else path}:{line}"


def _notes(run: Run, word: str) -> list[str]:
    failed = sorted({(p.message, _line(p.source)) for p in run.properties if p.failed})
    return [f"{word}: {message or '(no message)'} ({line})" for message, line in failed]


def _log_errors(run: Run) -> list[str]:
    """The first lines that tell of an error or a timeout, where the cause stands; or the log's
    end."""
    lines = run.log.splitlines()
    told = [line for line in lines if re.search("error|timeout", line, re.I)]
    return told[:_MOST_LINES] or lines[-1:] or ["no output"]


def prove(proof: Proof, out: Path, ended: threading.Event | None = None) -> Result:
    """Prove one proof and reach its covers; or find a counterexample.

    Parameters
    ----------
    proof : Proof
    out : Path
        A waveform goes to ``out / proof.name``, in place of an older one.
    ended : threading.Event, optional
        See :func:`.sby.run_sby`.

    Raises
    ------
    Ended
    """
    begin = time.perf_counter()
    design = rtlil.convert(proof.harness(*proof.blocks), ports=[], name="top")
    kept = out / proof.name
    for name in _TRACES.values():
        (kept / name).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="t3-") as name:
        folder = Path(name)
        run = partial(
            run_sby,
            design,
            solver=proof.solver,
            timeout_s=proof.timeout_s,
            ended=ended or threading.Event(),
        )
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
        trace = None if status in _HOLDS.values() else _keep_trace(last, kept)
    kinds = [one.kind for one in first.properties]
    seconds = time.perf_counter() - begin
    return Result(proof, status, seconds, kinds.count("ASSERT"), kinds.count("COVER"), notes, trace)


def _refute(proof: Proof, run: Callable[..., Run], folder: Path) -> Run | None:
    """The run that finds a counterexample to the contract, from reset: the induction may have
    failed by an invariant that does not hold, or too early to say.

    The shortest one is the easiest to read, and cycle by cycle finds it. But each further cycle
    takes longer to be shown free of one, and most counterexamples can wait: beyond the first half
    of the cycles, the last one is asked before those between.
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
    """Status and notes of a proof that holds, by its covers."""
    if not any(one.kind == "COVER" for one in run.properties):
        return "vacuous", ["the harness covers nothing"]
    if run.status == "PASS":
        return _HOLDS[proof.mode], []
    if run.status == "FAIL":
        return "vacuous", _notes(run, "not reached")
    return run.status.lower(), _log_errors(run)


def _keep_trace(run: Run, kept: Path) -> Path | None:
    for made, name in _TRACES.items():
        if (run.traces / made).exists():
            kept.mkdir(parents=True, exist_ok=True)
            return Path(shutil.move(run.traces / made, kept / name))
    return None


def prove_all(proofs: Sequence[Proof], out: Path, progress: Report = no_progress) -> list[Result]:
    """Prove all, two at a time.

    Parameters
    ----------
    proofs : sequence of Proof
    out : Path
        See :func:`prove`.
    progress : callable

    Returns
    -------
    list of Result
        In the order of ``proofs``.
    """
    progress("Yosys, compiled once for this machine", 0.0)
    compile_tool(YOSYS)  # here, where an interrupt ends it
    progress(f"proofs: {len(proofs)}", 0.0)
    # SymbiYosys runs in processes of its own, so threads are enough.
    pool = ThreadPoolExecutor(_AT_A_TIME)
    ended = threading.Event()
    try:
        futures = [pool.submit(prove, proof, out, ended) for proof in proofs]
        for count, future in enumerate(as_completed(futures), 1):
            progress(f"{future.result().proof.name} {future.result().status}", count / len(futures))
    finally:
        ended.set()  # those in progress, too, after an error or an interrupt
        pool.shutdown(cancel_futures=True)
    return [future.result() for future in futures]
