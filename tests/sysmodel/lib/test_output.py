"""Output folders: complete files, complete folders."""

from sysmodel.lib.output import OutputFolder


def test_written_files_and_folders_take_the_place_of_older_ones(tmp_path):
    for content, names in (("first", ("a.txt", "pages/old.html")), ("second", ("pages/new.html",))):
        with OutputFolder(tmp_path, ("a.txt",)) as folder:
            folder.write({name: content for name in names})
    assert (tmp_path / "a.txt").read_text() == "first"
    assert [file.name for file in (tmp_path / "pages").iterdir()] == ["new.html"]
    assert (tmp_path / "pages/new.html").read_text() == "second"


def test_a_folder_that_another_process_makes_at_the_same_time(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.exists", lambda path: path == tmp_path)
    (tmp_path / "out").mkdir()
    with OutputFolder(tmp_path / "out", ()) as folder:
        folder.write({"a": "new"})
    assert (tmp_path / "out" / "a").read_text() == "new"
    with OutputFolder(tmp_path / "out" / "inner", ()):
        pass
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]
