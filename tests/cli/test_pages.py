"""Help texts, messages and settings files name only pages that exist, and the wheel has them."""

import pathlib
import re

import azo

_PACKAGE = pathlib.Path(azo.__file__).parent
_PAGE = re.compile(r"\bdocs/[\w/.-]+\.\w+")


def _texts():
    for suffix in ("py", "html", "js", "toml"):
        for folder in (_PACKAGE, _PACKAGE.parent / "configs"):
            yield from folder.rglob(f"*.{suffix}")


def test_every_page_that_azo_names_exists_and_is_in_the_wheel():
    named = {page for file in _texts() for page in _PAGE.findall(file.read_text())}
    named.remove("docs/Analysis_Engine.md")  # a page of KataGo, by its address
    assert len(named) > 10
    shipped = [*_PACKAGE.parent.glob("docs/*.md"), *_PACKAGE.parent.glob("docs/notebook/*.md")]
    assert named - {path.relative_to(_PACKAGE.parent).as_posix() for path in shipped} == set()
