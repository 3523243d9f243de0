"""A grid small enough to simulate in a test, and sweeps in separate processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

__all__ = ["CONFIGURATIONS", "POINTS", "grid_text", "started_sweep"]

CONFIGURATIONS = ("sequential", "t3-mca")
POINTS = 8
_END_S = 20


def grid_text(workload: str = "m = [512, 1024], n = 384, k = [64, 128], tp = 4") -> str:
    """Return ``POINTS`` points on the preset with 8 CUs and 4 channels; L2 and link keep their
    share."""
    names = ", ".join(f'"{name}"' for name in CONFIGURATIONS)
    return f"""
        title = "small"
        [[grid]]
        workload = {{{workload}}}
        [grid.system]
        gpu.compute_units = 8
        dram.channels = 4
        l2.slices = 8
        l2.capacity_mib = 2
        link.bandwidth_gb_per_s = [9.375, 18.75]
        [grid.run]
        engine = "golden"
        configurations = [{names}]
    """


@contextmanager
def started_sweep(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Run ``t3 sweep`` in a session of its own, and check that no process of it is left."""
    program = "import sys; from t3.cli.main import main; sys.exit(main(['sweep', *sys.argv[1:]]))"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            deadline = time.monotonic() + _END_S
            while (left := _session(process.pid)) and time.monotonic() < deadline:
                time.sleep(0.05)
            if left:
                os.killpg(process.pid, signal.SIGKILL)
    assert left == []


def _session(leader: int) -> list[list[str]]:
    """Return the command lines of a session's processes, without the leader's."""
    found = []
    for process in psutil.process_iter(["pid", "status", "cmdline"]):
        try:
            same = os.getsid(process.pid) == leader
        except ProcessLookupError:
            continue
        if same and process.pid != leader and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.info["cmdline"])
    return found
