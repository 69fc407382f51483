"""What a stranger may put in place of a file: links, a FIFO, a folder."""

import os
import pathlib


class Victims:
    """A file and a folder of the user, which nothing may change."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        (folder / "letters").mkdir(parents=True)
        self.letter = folder / "letter"
        for path in (self.letter, folder / "letters" / "first"):
            path.write_text("dear\n")
        self.absent = folder / "absent"

    def assert_untouched(self):
        found = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))
        assert found == ["letter", "letters", "letters/first"]
        for name in ("letter", "letters/first"):
            assert (self.folder / name).read_text() == "dear\n", name


def link(place, victims):
    place.symlink_to(victims.letter)


def link_to_folder(place, victims):
    place.symlink_to(victims.letter.with_name("letters"))


def dangling_link(place, victims):
    place.symlink_to(victims.absent)


def hard_link(place, victims):
    os.link(victims.letter, place)


def fifo(place, victims):
    del victims
    os.mkfifo(place)


def folder(place, victims):
    del victims
    place.mkdir()
    (place / "inner").write_text("kept")


KINDS = (link, link_to_folder, dangling_link, hard_link, fifo, folder)
LINKS = (link, link_to_folder, dangling_link)
