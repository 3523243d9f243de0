"""Execution of a case in a folder of its own, and the rules that it must keep."""

import io
import json
import re
import sys
import tempfile
import warnings
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from amaranth.hdl import UnusedElaboratable

import t3
from t3.cli.main import main

from .case import FOLDER, Call, Case, Command
from .limits import TooLarge, limit_simulations

__all__ = ["violations"]

_LONGEST = 1500  # characters of a message; the list of all configurations takes some hundred
_LEAKS = re.compile(r"Traceback|NoneType|Errno|pydantic|Error:|\bndarray\b")
_REASONS = re.compile(
    r"allowed|cannot be|missing|Missing|is not |unknown|no such|No such|needs|must|larger|too |"
    r"given|named once|cut short|base of itself|has no|lacks|more to mend|unexpected|requires|"
    r"occurs twice|no GEMM|makes \d+ points|not a whole|takes no|do not|does not|give one of|"
    r"not a file|is a folder|which has"
)
_STUDIES = ("sweep", "model")
"""Commands that print a line about their points when they begin."""
_LATER = re.compile(r"too large for this test|points failed")


def violations(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run a case and list the rules that it breaks."""
    work, temporary = folder / "work", folder / "tmp"
    work.mkdir()
    temporary.mkdir()
    for name, content in case.files.items():
        (work / name).mkdir() if content is FOLDER else (work / name).write_bytes(content)
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    limit_simulations(monkeypatch)
    before = _content(work)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Hardware that other tests made for its signature may be collected during this case.
        warnings.simplefilter("ignore", UnusedElaboratable)
        run = _command if isinstance(case.what, Command) else _call
        found, is_done = run(case, monkeypatch)
    left = [str(path.relative_to(temporary)) for path in temporary.rglob("*")]
    if left:
        found.append(f"temporary files are left: {left}")
    return found + _written(case, work, before, is_done)


def _content(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def _written(
    case: Case, work: Path, before: dict[str, bytes | None], is_done: bool | None
) -> list[str]:
    """Compare the working folder with its state before: all files are written, or none."""
    after = _content(work)
    new = {name for name in after if name not in before or after[name] != before[name]}
    new |= before.keys() - after.keys()
    if is_done is None:  # Checkpoints may be left.
        return []
    if not is_done or case.out is None:
        return [f"written: {sorted(new)}"] if new else []
    complete = {f"{case.out}/{name}" for name in case.written}
    files = {name for name in new if after.get(name) is not None}
    return [] if files == complete else [f"written: {sorted(files)} instead of {sorted(complete)}"]


def _command(case: Case, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], bool | None]:
    assert isinstance(case.what, Command)
    raw = io.BytesIO()
    errors = io.StringIO()
    arguments = list(case.what.arguments)
    with open("/dev/full", "w", encoding=case.what.encoding) as full:
        is_full = case.what.to_full_device
        out = full if is_full else io.TextIOWrapper(raw, case.what.encoding)
        monkeypatch.setattr(sys, "stdout", out)
        try:
            with redirect_stderr(errors):
                code = main(arguments)
        except TooLarge:
            return [], None
        except BaseException as error:
            return [f"{type(error).__name__}: {error}"], None
        finally:
            out.flush()
            monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    printed = raw.getvalue().decode(case.what.encoding)
    message = errors.getvalue()
    if is_full and code == 1:
        return [], None
    if "--help" in arguments or "-h" in arguments:
        return ([] if code in (0, 2) else [f"exit code {code}: {message}"]), False
    if code == 0:
        return _output(arguments, printed, message), True
    if code == 2:
        found = [f"printed: {printed[:200]!r}"] if printed else []
        prefix = "" if message.startswith("error: ") else "does not begin with 'error: '"
        return [*found, *_message(case, message.removeprefix("error: "), prefix)], False
    if code == 1 and _LATER.search(message):
        return [], None
    if code == 1 and arguments[:2] == ["config", "validate"] and not message and printed:
        return [], False
    return [f"exit code {code}: {message}"], None


def _output(arguments: list[str], printed: str, message: str) -> list[str]:
    lines = message.splitlines()
    is_odd = lines if arguments[0] not in _STUDIES else len(set(lines)) < len(lines)
    found = [f"messages after success: {message!r}"] if is_odd else []
    if "--json" in arguments:
        try:
            json.loads(printed, parse_constant=lambda word: int(word))
        except ValueError as error:
            found.append(f"no JSON: {error}")
    elif re.search(r"\b(nan|inf)\b|…", printed):
        found.append(f"a number is no number, or is cut: {printed}")
    return found


def _message(case: Case, message: str, problem: str = "") -> list[str]:
    text = message.removesuffix("\n")
    found = [problem] if problem else []
    if "\n" in text or not text:
        found.append("is not one line")
    if len(text) > _LONGEST:
        found.append(f"has {len(text)} characters")
    if _LEAKS.search(text):
        found.append("shows a part of Python")
    if not any(name and " ".join(name.split()) in text for name in case.blamed):
        found.append(f"names none of {sorted(case.blamed)}")
    if not _REASONS.search(text):
        found.append("gives no reason")
    return [f"message {one}: {text[:_LONGEST]!r}" for one in found]


def _call(case: Case, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], bool | None]:
    assert isinstance(case.what, Call)
    printed = io.StringIO()
    monkeypatch.setattr(sys, "stdout", printed)
    try:
        with redirect_stderr(printed):
            result = getattr(t3, case.what.function)(*case.what.arguments, **case.what.keywords)
            repr(result)
    except t3.InputError as error:
        return _message(case, str(error)), False
    except TooLarge:
        return [], None
    except t3.SimulationError as error:
        return ([] if _LATER.search(str(error)) else [f"failed: {error}"]), None
    except BaseException as error:
        return [f"{type(error).__name__}: {error}"], None
    finally:
        monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    text = "" if case.what.function in _STUDIES else printed.getvalue()
    return ([f"printed: {text!r}"] if text else []), True
