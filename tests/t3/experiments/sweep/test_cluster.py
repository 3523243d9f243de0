"""Processes of this machine that simulate."""

import os
import signal

import psutil
import pytest

from t3.experiments.sweep.cluster import cluster_client

pytestmark = pytest.mark.verify


def test_workers_are_deaf_to_interrupts():
    """From before their first import on: a terminal's Ctrl-C goes to them, too."""
    with cluster_client(None, 1, 1) as client:
        client.wait_for_workers(1)
        (worker,) = client.run(os.getpid).values()
        (inherited,) = client.run(signal.getsignal, signal.SIGINT).values()
        started = psutil.Process().children(recursive=True)
        for process in started:
            process.send_signal(signal.SIGINT)
        (after,) = client.run(os.getpid).values()
    assert worker in [process.pid for process in started]
    assert inherited == signal.SIG_IGN
    assert after == worker
