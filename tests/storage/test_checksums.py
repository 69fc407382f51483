import re
import subprocess

import pytest

from azo.storage import files


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "one").write_bytes(b"1" * 100)
    (tmp_path / "two").write_bytes(b"")
    files.write_checksums(tmp_path)
    return tmp_path


def fault(folder, parts=None):
    with pytest.raises(ValueError) as caught:
        files.verify_checksums(folder, parts)
    return str(caught.value).removeprefix(f"{folder}: damaged: ")


def test_the_list_is_that_of_sha256sum(folder):
    command = ["sha256sum", "--check", "--strict", files.CHECKSUMS]
    shown = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    assert shown == "a/b/one: OK\ntwo: OK\n"


def test_a_folder_without_checksums_is_not_verified(folder):
    (folder / files.CHECKSUMS).unlink()
    assert not files.verify_checksums(folder)


@pytest.mark.parametrize("bit", [0, 3, 399, 799])
def test_each_bit_counts(folder, bit):
    content = bytearray((folder / "a/b/one").read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    (folder / "a/b/one").write_bytes(content)
    assert fault(folder) == "a/b/one has another checksum"
    assert files.verify_checksums(folder, ["two"])  # of which the damage is no part


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
