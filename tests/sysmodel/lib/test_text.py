"""Text files: byte order marks, other encodings, and files that cannot be read."""

import gzip

import pytest

from sysmodel.lib.errors import InputError
from sysmodel.lib.text import read_text


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_no_text(tmp_path, mark):
    path = tmp_path / "a.txt"
    path.write_bytes(mark + "µ\r\n".encode())
    assert read_text(path) == "µ\r\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("base".encode("utf-16"), "is UTF-16; allowed: UTF-8"),
        ("base".encode("utf-16-le"), "is UTF-16; allowed: UTF-8"),
        ("base".encode("utf-16-be"), "is UTF-16; allowed: UTF-8"),
        (gzip.compress(b"base"), "is compressed; allowed: a text"),
        (b"a\nb \xff\n", "is not UTF-8 (at line 2)"),
        (b"a" * 33, "is larger than 32 bytes"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_files_that_are_no_text(tmp_path, content, problem):
    path = tmp_path / "a.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_text(path, most_bytes=32)
    assert caught.value.field == str(path)
    assert caught.value.problem.startswith(problem)
