import pytest

from azo.run import data


def test_the_environment_chooses_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv(data.VARIABLE, str(tmp_path))
    assert data.folder() == tmp_path


def test_a_folder_that_was_chosen_but_is_missing_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv(data.VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(ValueError, match=r"AZO_DATA=.*absent: no such folder"):
        data.folder()


def test_without_a_choice_a_missing_folder_is_none(monkeypatch, tmp_path):
    monkeypatch.delenv(data.VARIABLE, raising=False)
    monkeypatch.setattr(data, "_BESIDE_THE_PROJECT", tmp_path / "absent")
    assert data.folder() is None
    monkeypatch.setattr(data, "_BESIDE_THE_PROJECT", tmp_path)
    assert data.folder() == tmp_path
