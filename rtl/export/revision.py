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
    """Git's name of the sources, ending in ``-dirty`` if they were changed; None without Git.

    Pages in ``docs/`` are no sources: a command that writes one does not change what the next one
    is about.
    """
    try:
        # An installed copy may lie in a checkout of something else.
        _git("ls-files", "--error-unmatch", "parameters.py")
        name = _git("describe", "--always", "--exclude=*", "--abbrev=12")
        changed = _git("diff", "HEAD", "--name-only", "--", ":/", ":(top,exclude)docs")
        return f"{name}-dirty" if changed else name
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=_HERE, capture_output=True, text=True, check=True)
    return done.stdout.strip()
