import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from sysmodel.lib.workers import side_by_side
from tests.support.programs_left import end_soon


def test_results_are_in_the_order_of_the_arguments():
    shares = []
    found = side_by_side(pow, [(2, 200_000, 10**9 + 7), (3, 2), (5, 3)], shares.append)
    assert found == [pow(2, 200_000, 10**9 + 7), 9, 125]
    assert shares == sorted(shares) and shares[-1] == 1


def test_an_error_ends_the_run():
    with pytest.raises(ZeroDivisionError):
        side_by_side(divmod, [(7, 2), (1, 0)], lambda share: None)


def wait_for_a_program(says: Path) -> None:
    """Say which program it is, and where temporary files are."""
    folder = tempfile.mkdtemp()
    program = subprocess.Popen(["sleep", "100"])
    complete = Path(folder, "says")
    complete.write_text(f"{program.pid} {folder}")
    complete.rename(says)
    program.wait()


def test_an_interrupt_ends_workers_and_what_they_started(tmp_path):
    says = [tmp_path / name for name in "ab"]

    def interrupt(share: float) -> None:
        if all(one.exists() for one in says):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side_by_side(wait_for_a_program, [(one,) for one in (*says, tmp_path / "c")], interrupt)
    assert not (tmp_path / "c").exists()
    for one in says:
        pid, folder = one.read_text().split()
        assert not Path(folder).exists()
        assert end_soon([pid])


def interrupt_itself(result: int) -> int:
    os.kill(os.getpid(), signal.SIGINT)
    return result


def test_workers_are_deaf_to_interrupts():
    """A terminal's Ctrl-C goes to them, too, but is not theirs."""
    assert side_by_side(interrupt_itself, [(3,), (7,)], lambda share: None) == [3, 7]
