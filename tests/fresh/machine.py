"""Parts of this machine that a trial needs: settings, interpreters, the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["ROOT", "apt_settings", "interpreters", "make_bundle", "mirror", "packages"]
__all__ += ["pip_paths", "pip_settings", "pip_variables", "revision"]

ROOT = Path(__file__).parents[2]
_PAGE = ROOT / "docs" / "start.md"
_INSTALL = re.compile(r"^\$ apt-get install ([\w+. -]+?) *# (needed|optional)", re.MULTILINE)
_PIP_VARIABLE = re.compile(r"PIP_\w+|\w+_proxy|(SSL_CERT|REQUESTS_CA)_\w+", re.IGNORECASE)
_PIP_SETTING = re.compile(r"^(\w+)\.([\w-]+)='(.*)'$", re.MULTILINE)
_PATH = re.compile(r"(?:file://|(?<!\S))(/[^\s,]+)")


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def packages(kind: str) -> list[str]:
    """Read the names of Debian's packages, ``needed`` or ``optional``, from the page."""
    return {k: names.split() for names, k in _INSTALL.findall(_PAGE.read_text())}[kind]


def revision() -> str:
    return _output("git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*").strip()


def make_bundle(path: Path) -> None:
    """Write the committed state of the project into a file from which git can clone."""
    _output("git", "bundle", "create", "--quiet", path, "HEAD")


def mirror() -> list[str]:
    """Find the address of Debian's archive in this machine's apt, if this machine is a Debian."""
    if shutil.which("apt-get") is None:
        return []
    formatted = _output("apt-get", "indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)")
    return re.findall(r"^Debian Debian (\S+)$", formatted, re.MULTILINE)[:1]


def apt_settings() -> str:
    """Read the settings of downloads in this machine's apt: proxies, checks of dates."""
    return "" if shutil.which("apt-config") is None else _output("apt-config", "dump", "Acquire")


def pip_variables() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if _PIP_VARIABLE.fullmatch(name)}


def pip_settings() -> str:
    """Read this machine's configuration of pip, as the text of one file."""
    sections: dict[str, list[str]] = {}
    listed = _output(sys.executable, "-m", "pip", "config", "list")
    for section, name, text in _PIP_SETTING.findall(listed):
        sections.setdefault(section, []).append(f"{name} = {text}")
    lines = [line for name, entries in sections.items() for line in (f"[{name}]", *entries)]
    return "\n".join([*lines, ""])


def pip_paths() -> list[Path]:
    """List the files and folders of this machine that its configuration of pip names.

    An index in a folder ``simple`` refers to files beside that folder.
    """
    texts = [pip_settings(), *pip_variables().values()]
    named = {Path(path) for text in texts for path in _PATH.findall(text)}
    whole = {path.parent if path.name == "simple" else path for path in named}
    return sorted(path for path in whole if path.exists())


def interpreters() -> dict[str, Path]:
    """Find each Python of this machine that the project supports, by version."""
    found: dict[str, Path] = {}
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    folders += Path.home().glob(".pyenv/versions/*/bin")
    for folder in folders:
        for program in sorted(folder.glob("python3.*")):
            if re.fullmatch(r"python3\.\d+", program.name):
                done = subprocess.run([program, "--version"], capture_output=True, text=True)
                version = done.stdout.removeprefix("Python ").strip()
                if done.returncode == 0 and _is_supported(version):
                    found.setdefault(version, program)
    return dict(sorted(found.items(), key=lambda one: _numbers(one[0])))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def _is_supported(version: str) -> bool:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (oldest,) = re.findall(r'^requires-python = ">=(.*)"$', project, re.MULTILINE)
    return _numbers(version) >= _numbers(oldest)
