"""Version and revision of the sources."""

import subprocess
from importlib.metadata import version
from pathlib import Path

__all__ = ["made_by", "project_version", "revision"]

_HERE = Path(__file__).parents[1]


def project_version() -> str:
    """Look up the version of the project."""
    return version("t3")


def revision() -> str | None:
    """Determine the Git revision, with ``-dirty`` if sources were changed; None without Git.

    Pages in ``docs/`` do not count as sources, so a command that writes a page does not change the
    revision for the next command.
    """
    try:
        # An installed copy may lie inside a checkout of another project.
        _git("ls-files", "--error-unmatch", "parameters.py")
        name = _git("describe", "--always", "--exclude=*", "--abbrev=12")
        changed = _git("diff", "HEAD", "--name-only", "--", ":/", ":(top,exclude)docs")
        return f"{name}-dirty" if changed else name
    except (OSError, subprocess.CalledProcessError):
        return None


def made_by(command: str) -> str:
    """Name the command, the program and the revision that make a page, as its first sentence."""
    sources = revision()
    origin = f"t3 {project_version()}" + (f", revision {sources}" if sources else "")
    return f"Made by `{command}` ({origin})."


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=_HERE, capture_output=True, text=True, check=True)
    return done.stdout.strip()
