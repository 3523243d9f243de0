"""Configuration of the site: all pages, executed notebooks, full results and a reference.

Sources are the repository itself, so that a link means the same here and in the checkout. The full
pages of results are included where ``build/`` or ``results/`` has them.
"""

import re
import shutil
from importlib.metadata import version as version_of
from pathlib import Path

import typer
from sphinx.application import Sphinx
from typer.cli import get_docs_for_click

from rtl.blocks import BLOCKS
from rtl.export.register_documents import register_documents
from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters
from t3.cli.app import app as commands
from t3.cli.app import load

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_GENERATED = _ROOT / "docs/reference/generated"

# Full pages of results, with the files and folders that they show.
_RESULTS = {
    "results/evaluation.md": ("results/evaluation",),
    "results/machines/machines.md": (),
    "build/validation/validation.md": ("build/validation/validation-*.png",),
    "build/verification/proofs.md": (),
    "build/verification/mutation.md": (),
    "build/verification/coverage.md": (),
    "build/verification/faults.md": (),
}

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
nb_output_stderr = "remove"  # progress bars

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
    """Help of the command line and of every command, as a page."""
    group = typer.main.get_command(commands)
    group.commands = {name: load(name) for name in group.commands}
    text = get_docs_for_click(obj=group, ctx=typer.Context(group), name="t3")
    title = "# Commands\n\nWhat `t3 --help` and `t3 COMMAND --help` say."
    return text.strip().replace("# `t3`", title, 1) + "\n"


def _blocks() -> str:
    """Write the page of the blocks: parameters and ports, from their docstrings."""
    classes = [T3Parameters, LinkParameters, *(block.kind for block in BLOCKS.values())]
    parts = [f".. autoclass:: {one.__module__}.{one.__qualname__}" for one in classes]
    about = (
        "The hardware's components, with their parameters and ports. Their behaviour in each cycle "
        "is in the [microarchitecture](../../microarchitecture/README.md)."
    )
    return "\n".join(["# Blocks", "", about, "", "```{eval-rst}", *parts, "```", ""])


def _registers() -> str:
    """Page of the register map, without the comment at its beginning."""
    text = register_documents()["registers.md"].decode()
    return re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)


def _results() -> str:
    """Copy the full pages of results, with their figures, and write the page that lists them."""
    folder = _GENERATED / "full"
    folder.mkdir()
    found = [page for page in _RESULTS if (_ROOT / page).is_file()]
    for page in found:
        shutil.copy(_ROOT / page, folder)
        for file in (file for shown in _RESULTS[page] for file in _ROOT.glob(shown)):
            copied = folder / file.name
            shutil.copytree(file, copied) if file.is_dir() else shutil.copy(file, copied)
    missing = [f"- `{page}` did not exist." for page in _RESULTS if page not in found]
    contents = [f"full/{Path(page).stem}" for page in found]
    about = (
        "Every figure of the results that this checkout has made; the pages of results elsewhere "
        "in the documentation are their summaries."
    )
    toctree = ["```{toctree}", "", *contents, "```"] if contents else []
    return "\n".join(["# Full results", "", about, "", *toctree, "", *missing, ""])


def _write_pages(app: Sphinx) -> None:
    """Write the pages that are made from the sources, and those of the full results."""
    shutil.rmtree(_GENERATED, ignore_errors=True)
    _GENERATED.mkdir()
    (_GENERATED / "commands.md").write_text(_commands(), encoding="utf-8")
    (_GENERATED / "blocks.md").write_text(_blocks(), encoding="utf-8")
    (_GENERATED / "registers.md").write_text(_registers(), encoding="utf-8")
    (_GENERATED / "results.md").write_text(_results(), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", _write_pages)
