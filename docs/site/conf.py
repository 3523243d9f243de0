"""The site: every page of the repository, the notebooks, executed, and a reference from docstrings.

Sources are the repository itself, so that a link means the same here and in the checkout.
"""

import subprocess
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.application import Sphinx

from rtl.blocks import BLOCKS
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_GENERATED = _ROOT / "docs/reference/generated"

project, author = "T3", "The T3 authors"
release = version_of("t3")
root_doc = "docs/index"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
include_patterns = ["*.md", "docs/**.md", "docs/tutorials/*.ipynb", "examples/**.md"]
exclude_patterns = [".*", "build", "results", "rtl", "sysmodel", "t3", "tb", "tests"]

# Markdown as the forge shows it: links to headings, by the names that it gives them.
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]  # a page of evidence may begin below the first level

# Each notebook runs as a reader would run it, in a folder of its own; one that fails is an error.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 3600  # seconds for a cell; the first compiles the cycle loop
nb_merge_streams = True
nb_output_stderr = "remove"  # how far it is

# Docstrings in NumPy's sections, and one for the ports of a block.
napoleon_numpy_docstring, napoleon_google_docstring = True, False
napoleon_custom_sections = [("Members", "params_style")]
napoleon_use_ivar = True
autodoc_typehints = "none"  # the docstrings say more than the types
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"T3 {release}"
html_static_path = [str(_HERE / "static")]
html_css_files = ["site.css"]
html_extra_path = [str(_HERE / "index.html")]
html_show_sphinx = html_show_copyright = html_copy_source = False


def _commands() -> str:
    """What the command line says of itself."""
    command = [sys.executable, "-m", "typer", "t3.cli.app", "utils", "docs", "--name", "t3"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=_ROOT).stdout
    title = "# Commands\n\nWhat `t3 --help` and `t3 COMMAND --help` say."
    return text.replace("# `t3`", title, 1)


def _blocks() -> str:
    """Parameters and ports of the blocks, from their docstrings."""
    classes = [T3Parameters, LinkParameters, *(block.kind for block in BLOCKS.values())]
    parts = [f".. autoclass:: {one.__module__}.{one.__qualname__}" for one in classes]
    about = (
        "The hardware's components, with their parameters and ports. What each does in which cycle "
        "is in the [microarchitecture](../../microarchitecture/README.md)."
    )
    return "\n".join(["# Blocks", "", about, "", "```{eval-rst}", *parts, "```", ""])


def _write_pages(app: Sphinx) -> None:
    """Those of the reference that are made from the sources."""
    _GENERATED.mkdir(exist_ok=True)
    (_GENERATED / "commands.md").write_text(_commands(), encoding="utf-8")
    (_GENERATED / "blocks.md").write_text(_blocks(), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", _write_pages)
