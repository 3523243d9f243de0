"""Files that a wheel of the project installs."""

import sys
from importlib import import_module
from pathlib import Path

import pytest
import setuptools

import t3

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
CONFIGURED = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = CONFIGURED["tool"]["setuptools"]

_TOPS = {"driver", "rtl", "sysmodel", "t3"}


@pytest.fixture(scope="module")
def packages() -> list[str]:
    """Return the packages that setuptools finds when it builds."""
    return setuptools.find_namespace_packages(str(ROOT), **SETUPTOOLS["packages"]["find"])


def test_installed_names(packages):
    assert {package.partition(".")[0] for package in packages} == _TOPS


def test_every_folder_with_code_is_installed(packages):
    for top in _TOPS:
        for module in (ROOT / top).rglob("*.py"):
            assert ".".join(module.parent.relative_to(ROOT).parts) in packages, module


def test_every_data_file_is_installed():
    installed = set()
    for package, patterns in SETUPTOOLS["package-data"].items():
        for pattern in patterns:
            found = set((ROOT / package).glob(pattern))
            assert found, f"{package}: {pattern} fits no file"
            installed |= found
    for top in _TOPS:
        for path in (ROOT / top).rglob("*"):
            if path.is_file() and path.suffix not in (".py", ".pyc"):
                assert path in installed, f"{path} fits no pattern of package-data"


def test_version():
    assert t3.__version__ == CONFIGURED["project"]["version"]


def test_command():
    module, _, function = CONFIGURED["project"]["scripts"]["t3"].partition(":")
    assert callable(getattr(import_module(module), function))
