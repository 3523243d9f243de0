"""Which version and state of the sources this is."""

import subprocess
from importlib.metadata import version
from pathlib import Path

__all__ = ["project_version", "revision"]

_HERE = Path(__file__).parents[1]


def project_version() -> str:
    """Version of the project that makes the hardware."""
    return version("t3")


def revision() -> str | None:
    """Git's name of the sources, ending in ``-dirty`` if they were changed; None without Git."""
    try:
        # An installed copy may lie in a checkout of something else.
        _git("ls-files", "--error-unmatch", "parameters.py")
        return _git("describe", "--always", "--dirty", "--exclude=*", "--abbrev=12")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=_HERE, capture_output=True, text=True, check=True)
    return done.stdout.strip()
