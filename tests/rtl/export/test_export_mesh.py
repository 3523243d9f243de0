"""Export of the links to fully connected GPUs."""

import json
import re

import pytest

from rtl.export.files import export_files
from rtl.export.hierarchy import Hierarchies
from rtl.export.verilog import readable_verilog
from rtl.link.mesh import MeshLinks
from rtl.link.parameters import LinkParameters
from tests.support.exports import EXAMPLE, SMALL, exported

LINK = LinkParameters(contexts=1, replay_depth=32, receive_depth=32)


def test_modules_of_the_mesh():
    """The module has the ports of the top for other GPUs, in the opposite direction, and wires."""
    mesh = MeshLinks(SMALL, LINK, ports=2, lanes=1)
    text = readable_verilog(Hierarchies("synchronous").parts(mesh, "t3_mesh"), "about")
    assert re.findall(r"^module (\w+)", text, re.MULTILINE)[:2] == ["t3_mesh", "t3_mesh__fabric"]
    head = text.partition("\n);\n")[0]
    for number in range(2):
        assert re.search(rf"input .*channel__{number}__link_out__payload\b", head)
        assert re.search(rf"output .*channel__{number}__link_in__payload\b", head)
        assert re.search(rf"output .*wires__{number}__send__payload\b", head)


@pytest.mark.verify
def test_only_its_file_is_added():
    """The other files are those of an export without ports."""
    mesh = {"link": LinkParameters(contexts=2), "ports": 1}
    files, plain = export_files(EXAMPLE, mesh=mesh), exported(EXAMPLE)
    assert files.keys() - plain.keys() == {"t3_mesh.v"}
    for name in ("t3.v", "t3_link_endpoint.v", "t3_registers.vh"):
        assert files[name] == plain[name]
    entries = [entry["file"] for entry in json.loads(files["manifest.json"])["files"]]
    assert "t3_mesh.v" in entries
