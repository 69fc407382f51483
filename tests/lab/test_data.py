import pytest

from azo.lab import data


def test_the_environment_chooses_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv(data.VARIABLE, str(tmp_path))
    assert data.folder() == tmp_path
    monkeypatch.setenv(data.VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(ValueError, match=r"AZO_DATA=.*absent: no such folder"):
        data.folder()
    monkeypatch.delenv(data.VARIABLE)
    assert data.folder() is None
