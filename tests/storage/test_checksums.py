import re
import subprocess

import pytest
from support.drivers import refusals

from azo.storage import files


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "one").write_bytes(b"1" * 100)
    (tmp_path / "two").write_bytes(b"")
    files.write_checksums(tmp_path)
    return tmp_path


def fault(folder):
    message = refusals.message_of(files.verify_checksums, folder)
    return message.removeprefix(f"{folder}: damaged: ")


def test_the_list_is_that_of_sha256sum(folder):
    command = ["sha256sum", "--check", "--strict", files.CHECKSUMS]
    shown = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    assert shown == "a/b/one: OK\ntwo: OK\n"


def test_missing_and_additional_files_are_named(folder):
    (folder / ".hidden").write_text("")
    assert files.verify_checksums(folder)
    (folder / "three").write_text("")
    assert fault(folder) == "three has no checksum in SHA256SUMS"
    (folder / "three").unlink()
    (folder / "two").unlink()
    assert fault(folder) == "two is missing"


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 100, b"\xff\n", b"short  two\n", b"\n", b"a" * 64 + b"  two"]
)
def test_a_damaged_list_is_damage(folder, content):
    (folder / files.CHECKSUMS).write_bytes(content)
    assert re.search("SHA256SUMS", fault(folder))
