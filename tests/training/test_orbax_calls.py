"""Arrays in Orbax's format, written while signals interrupt the opening of files."""

import errno
import os
import types

import numpy as np
import orbax.checkpoint as ocp
import pytest

from azo.training import orbax_calls

ARRAYS = {"weights/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "step": np.int32(7)}
MOST_TRIES = 5


def of_tensorstore(number):
    """An error as tensorstore reports it: the number is only in its text."""
    return ValueError(f"UNKNOWN: Error opening state/d/1: [os_error_code='{number}']")


def of_python(number):
    return OSError(number, os.strerror(number))


@pytest.fixture
def failing_saves(monkeypatch):
    """Lets the first saves fail, each after a part was written; returns the names of all."""
    save = ocp.Checkpointer.save

    def arrange(errors):
        errors, saves = list(errors), []

        def interrupted(self, directory, *args, **settings):
            saves.append(directory.name)
            assert not list(directory.parent.glob(f"{directory.name}.*"))
            if not errors:
                return save(self, directory, *args, **settings)
            for name in (directory.name, f"{directory.name}.orbax-checkpoint-tmp"):
                (directory.with_name(name) / "d").mkdir(parents=True)
                (directory.with_name(name) / "d" / "1").write_bytes(b"part")
            raise errors.pop(0)

        monkeypatch.setattr(ocp.Checkpointer, "save", interrupted)
        return saves

    return arrange


@pytest.mark.parametrize("error", [of_tensorstore, of_python])
@pytest.mark.parametrize("number", [1, MOST_TRIES - 1])
def test_an_interrupted_write_is_repeated_under_another_name(
    tmp_path, failing_saves, error, number
):
    saves = failing_saves([error(errno.EINTR)] * number)
    (tmp_path / "other").write_text("kept")
    orbax_calls.write(tmp_path / "state", ARRAYS)
    assert saves == ["state", "state-1", "state-2", "state-3", "state-4"][: number + 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "state"]
    stored = orbax_calls.read(tmp_path / "state")
    assert stored.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(stored[name], array)
        assert stored[name].dtype == array.dtype


@pytest.mark.parametrize("error", [of_tensorstore, of_python])
def test_a_write_that_is_always_interrupted_is_given_up(tmp_path, failing_saves, error):
    saves = failing_saves([error(errno.EINTR)] * 9)
    with pytest.raises(OSError, match="Interrupted system call") as caught:
        orbax_calls.write(tmp_path / "state", ARRAYS)
    assert caught.value.errno == errno.EINTR
    assert len(set(saves)) == len(saves) == MOST_TRIES


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EACCES])
def test_no_other_error_is_repeated(tmp_path, failing_saves, number):
    saves = failing_saves([of_tensorstore(errno.EINTR), of_tensorstore(number)])
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        orbax_calls.write(tmp_path / "state", ARRAYS)
    assert caught.value.errno == number
    assert saves == ["state", "state-1"]


@pytest.mark.parametrize("number", [1, 3, 9])
@pytest.mark.parametrize("function", ["metadata", "restore"])
def test_an_interrupted_read_is_repeated(tmp_path, monkeypatch, function, number):
    orbax_calls.write(tmp_path / "state", ARRAYS)
    call, calls = getattr(ocp.Checkpointer, function), []

    def interrupted(self, *arguments, **settings):
        calls.append(function)
        if len(calls) > number:
            return call(self, *arguments, **settings)
        if function == "restore":
            raise of_tensorstore(errno.EINTR)
        return types.SimpleNamespace(item_metadata=None)

    monkeypatch.setattr(ocp.Checkpointer, function, interrupted)
    if number < 5:
        stored = orbax_calls.read(tmp_path / "state")
        assert stored.keys() == ARRAYS.keys()
        assert len(calls) == number + 1
    else:
        with pytest.raises(ValueError, match=r"state: cannot be read \(") as caught:
            orbax_calls.read(tmp_path / "state")
        assert "NoneType" not in str(caught.value)
        assert len(calls) == 5
