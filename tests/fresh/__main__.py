"""Run the README's commands in fresh systems; needs root, and Debian's ``debootstrap``."""

import argparse
import os
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

from . import machine, results
from .trials import Trial, all_trials

_FOLDER = machine.ROOT / "build" / "fresh"
_RESULTS = _FOLDER / "fresh.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fresh", description=__doc__)
    parser.add_argument("trials", nargs="*", default=["*"], help="names, or patterns of names")
    parser.add_argument("--page", type=Path, help="page whose table is replaced")
    options = parser.parse_args()
    trials = all_trials(_FOLDER)
    names = [trial.name for trial in trials]
    chosen = [t for t in trials if any(fnmatch(t.name, pattern) for pattern in options.trials)]
    if not chosen:
        parser.error(f"no trial is called {' '.join(options.trials)}; trials: {' '.join(names)}")
    if any(trial.name.startswith("debian") for trial in chosen):
        if os.geteuid() or shutil.which("debootstrap") is None:
            parser.error("a system of Debian needs root, and debootstrap (apt-get install it)")
    failed = [trial.name for trial in chosen if not _passes(trial, names)]
    print(f"Results: {_RESULTS.with_suffix('.md')}, logs: {_FOLDER / 'logs'}")
    if options.page:
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(results.with_table(page, results.load(_RESULTS)), encoding="utf-8")
    return int(bool(failed))


def _passes(trial: Trial, names: list[str]) -> bool:
    """Run a trial, and keep each result in the order of all trials' names."""
    passes = True
    try:
        for result in trial.results(_FOLDER, machine.revision()):
            print(f"{trial.name}: {result.command} {result.result}, {result.seconds} s", flush=True)
            passes &= result.result == "passes"
            kept = {(one.trial, one.command): one for one in results.load(_RESULTS)}
            kept[result.trial, result.command] = result
            places = {name: number for number, name in enumerate(names)}
            results.save(
                _RESULTS, sorted(kept.values(), key=lambda one: places.get(one.trial, len(names)))
            )
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print(f"{trial.name}: {error}", flush=True)
        passes = False
    return passes


if __name__ == "__main__":
    sys.exit(main())
