"""Commands of an installation from a wheel, which has no benches."""

import subprocess
import sys
import textwrap

import pytest

from t3.cli.app import PANELS

WITHOUT_BENCHES = textwrap.dedent(
    """
    import sys

    class Hidden:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in ("tb", "tests", "verification"):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Hidden())
    from t3.cli.main import main
    sys.exit(main(sys.argv[1:]))
    """
)


def t3(*arguments):
    command = [sys.executable, "-c", WITHOUT_BENCHES, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_all_commands_are_listed():
    done = t3("--help")
    assert done.returncode == 0
    for commands in PANELS.values():
        assert all(f" {command} " in done.stdout for command in commands)


@pytest.mark.parametrize("command", ["prove", "exhaust", "mutate", "coverage", "faults"])
def test_needs_a_checkout(command, tmp_path):
    done = t3(command, "--out", str(tmp_path / "new"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"error: t3 {command} runs from a checkout of the project: it needs the packages "
        "tb and verification\n"
    )
    assert not (tmp_path / "new").exists()
