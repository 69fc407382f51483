"""Settings that are names or import paths."""

import sys
from typing import Annotated

import pydantic
import pytest
from support.drivers import refusals

from azo.settings import import_paths, setting_types

_MODULE = "import collections\n\n\nclass Net:\n    pass\n\n\nclass _Hidden:\n    pass\n"


@pytest.fixture
def user_folder(tmp_path, monkeypatch):
    """A folder in Python's path, with modules of the user."""
    (tmp_path / "my_parts.py").write_text(_MODULE)
    (tmp_path / "needs_more.py").write_text("import not_installed_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_paths.allow(["my_part:Net", "my_parts:Network", "my_parts:Net", "needs_more:Net"])
    yield tmp_path
    sys.modules.pop("my_parts", None)


@pytest.mark.usefixtures("user_folder")
@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "my_part:Net",
            "network.kind is 'my_part:Net', but there is no module 'my_part': install it, set"
            " PYTHONPATH to its folder, or start azo there",
        ),
        (
            "my_parts:Network",
            "network.kind is 'my_parts:Network', but my_parts has no 'Network'; its own names: Net",
        ),
    ],
)
def test_a_module_or_name_that_is_not_there_is_named(path, message):
    assert refusals.message_of(import_paths.load, "network.kind", path) == message
    found = import_paths.load("network.kind", "my_parts:Net")
    assert (found.__module__, found.__name__) == ("my_parts", "Net")
    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):  # an error of its own
        import_paths.load("network.kind", "needs_more:Net")


@pytest.mark.parametrize("text", ["tower", "nets.Net", "nets:", ":Net", "a/b.py:Net", "nets:Net()"])
def test_a_text_that_is_neither_a_choice_nor_an_import_path_is_refused(text):
    kind = Annotated[str, setting_types.known_or_import_path("residual", "patterns")]
    adapter = pydantic.TypeAdapter(kind)
    assert adapter.validate_python("patterns") == "patterns"
    assert adapter.validate_python("my.nets:Net") == "my.nets:Net"
    with pytest.raises(pydantic.ValidationError) as error:
        adapter.validate_python(text)
    assert error.value.errors()[0]["msg"] == (
        "should be 'residual', 'patterns', or an import path such as 'package.module:Name'"
    )
