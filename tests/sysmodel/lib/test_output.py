"""Output folders: complete files, complete folders."""

from sysmodel.lib.output import OutputFolder


def test_written_files_and_folders_take_the_place_of_older_ones(tmp_path):
    for content, names in (("first", ("a.txt", "pages/old.html")), ("second", ("pages/new.html",))):
        with OutputFolder(tmp_path, ("a.txt",)) as folder:
            folder.write({name: content for name in names})
    assert (tmp_path / "a.txt").read_text() == "first"
    assert [file.name for file in (tmp_path / "pages").iterdir()] == ["new.html"]
    assert (tmp_path / "pages/new.html").read_text() == "second"
