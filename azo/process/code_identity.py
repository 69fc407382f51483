"""Identity of code: whether a program that was compiled before is still what its source says.

A compiled program keeps what functions did when it was traced. JAX keys programs by the arguments,
among them games and networks, which may be equal though their class was defined again, as in a
notebook, or though a function that they call was replaced. Here a program also depends on all
code that its function and the classes of its arguments reach: functions, methods, closures, and
the names that they use in their modules.
"""

import dataclasses
import functools
import inspect
import itertools
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax

from azo.settings import import_paths

# What azo is built on is not followed: nobody defines it again.
_LIBRARIES = {
    *sys.stdlib_module_names,
    *("chex", "flax", "jax", "jaxlib", "mctx", "ml_dtypes", "numba", "numpy", "optax", "orbax"),
    *("pgx", "pydantic", "pydantic_core", "rich", "scipy", "tensorstore", "tyro"),
} - {"__main__"}
_MOST_VERSIONS = 64
_MISSING = object()


class Version:
    """The code that some functions and classes reach, as it is now."""

    def __init__(self, roots: Iterable[Any]):
        self._roots = tuple(roots)
        self._items: list[tuple[Any, Any, Any]] = []  # dictionary, key, value
        self._attributes: list[tuple[Any, str, Any]] = []  # object, name, value
        self._classes: list[tuple[type, list[Any]]] = []
        self._seen: dict[Any, Any] = {}
        waiting = list(self._roots)
        while waiting:
            waiting += self._visit(waiting.pop())
        self._seen.clear()

    def is_current(self) -> bool:
        """Returns whether all of it is still the same."""
        return (
            all(place.get(key, _MISSING) is value for place, key, value in self._items)
            and all(getattr(x, name, _MISSING) is value for x, name, value in self._attributes)
            and all(_same(members, _members(kind)) for kind, members in self._classes)
        )

    def _visit(self, x: Any) -> Iterator[Any]:
        """Records one object; yields those that it uses."""
        if id(x) in self._seen:
            return
        self._seen[id(x)] = x
        match x:
            case types.FunctionType():
                yield from self._visit_function(x)
            case type():
                for kind in filter(_is_followed, x.__mro__):
                    self._classes.append((kind, _members(kind)))
                    yield from _members(kind)[1::2]
            case types.MethodType():
                yield from (x.__func__, x.__self__)
            case functools.partial():
                yield from (x.func, *x.args, *x.keywords.values())
            case property():
                yield from (x.fget, x.fset)
            case classmethod() | staticmethod():
                yield x.__func__
            case functools.cached_property():
                yield x.func
            case dict():
                yield from x.values()
            case tuple() | list() | set() | frozenset():
                yield from x
            case _ if hasattr(x, "__wrapped__"):  # as of `jax.jit` and `functools.cache`
                yield x.__wrapped__
            case _:
                if not isinstance(x, types.ModuleType):
                    yield type(x)

    def _visit_function(self, function: types.FunctionType) -> Iterator[Any]:
        if function.__globals__ is globals():  # `jit`, which keeps programs
            yield vars(function).get("__wrapped__")
            return
        if not _is_followed(function):
            return
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._attributes.append((function, name, getattr(function, name)))
        yield from vars(function).values()  # such as __wrapped__
        for cell in function.__closure__ or ():
            value = getattr(cell, "cell_contents", _MISSING)
            self._attributes.append((cell, "cell_contents", value))
            yield value
        yield from function.__defaults__ or ()
        yield from (function.__kwdefaults__ or {}).values()
        names = list(_names(function.__code__))
        for value in self._record(function.__globals__, names):
            if isinstance(value, types.ModuleType) and _is_followed(value):
                yield from self._record(vars(value), names)
            else:
                yield value

    def _record(self, place: dict[str, Any], names: Iterable[str]) -> Iterator[Any]:
        for name in names:
            if name in place and (id(place), name) not in self._seen:
                self._seen[(id(place), name)] = True
                self._items.append((place, name, place[name]))
                if isinstance(table := place[name], dict):  # such as functions by name
                    self._items += [(table, key, value) for key, value in table.items()]
            if name in place:
                yield place[name]


_versions: dict[tuple[int, ...], Version] = {}
_lock = threading.Lock()  # ratings are compiled in a thread


def version(*roots: Any) -> Version:
    """Returns the version of the code that functions and classes reach.

    It is the same object as before, unless code has changed. What import paths name belongs to it.
    """
    roots = (*roots, *import_paths.loaded())
    key = tuple(map(id, roots))  # a version keeps its roots, so that no other object gets their id
    with _lock:
        current = _versions.pop(key, None)
        if current is None or not current.is_current():
            _drop_outdated(is_one_known=current is not None)
            current = Version(roots)
        _versions[key] = current
        if len(_versions) > _MOST_VERSIONS:
            del _versions[next(iter(_versions))]
        return current


def _drop_outdated(*, is_one_known: bool) -> None:
    """Drops versions that are not current, and if there is one, what JAX keeps inside of programs.

    It keeps the traces of functions that `scan`, `cond` and such call.
    """
    outdated = [key for key, one in _versions.items() if not one.is_current()]
    for key in outdated:
        del _versions[key]
    if outdated or is_one_known:
        jax.clear_caches()


def jit(
    function: Callable[..., Any] | None = None,
    *,
    static_argnums: tuple[int, ...] = (),
    static_argnames: tuple[str, ...] = (),
) -> Any:
    """Compiles a function as `jax.jit` does, with or without options.

    It is compiled again if its code has changed, or that of a static argument or part. The result
    has `num_programs()`, how many programs are compiled.
    """
    options: Any = {"static_argnums": static_argnums, "static_argnames": static_argnames}
    if function is None:
        return functools.partial(jit, **options)
    # A static argument may be given by its place or by its name.
    parameters = list(inspect.signature(function).parameters.values())
    names = {*static_argnames, *(parameters[place].name for place in static_argnums)}
    places = [
        place
        for place, parameter in enumerate(parameters)
        if parameter.name in names and parameter.kind is not parameter.KEYWORD_ONLY
    ]
    options = {"static_argnums": tuple(places), "static_argnames": tuple(sorted(names))}
    programs: dict[Version, Any] = {}

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        static = [args[place] for place in places if place < len(args)]
        static += [named[name] for name in names if name in named]
        static += itertools.chain.from_iterable(map(_static_parts, (*args, *named.values())))
        now = version(function, *map(_code_of, static))
        if now not in programs:
            kept = list(_versions.values())
            for old in [one for one in programs if one not in kept]:
                programs.pop(old, None)
            programs[now] = jax.jit(_copy(function), **options)  # JAX keeps traces by function
        return programs[now](*args, **named)

    def num_programs() -> int:
        return sum(program._cache_size() for program in programs.values())

    call.num_programs = num_programs  # type: ignore[attr-defined]
    return call


def _static_parts(argument: Any) -> Iterator[Any]:
    """Yields what is static in a dataclass of flax, such as the game of a player."""
    if dataclasses.is_dataclass(argument) and not isinstance(argument, type):
        parts = [x for x in dataclasses.fields(argument) if not x.metadata.get("pytree_node", True)]
        if parts:
            yield argument  # its methods
            yield from (getattr(argument, part.name) for part in parts)


def _code_of(argument: Any) -> Any:
    """Returns the function or class that decides what a static argument does."""
    is_function = isinstance(argument, types.FunctionType | types.MethodType | functools.partial)
    return argument if is_function or hasattr(argument, "__wrapped__") else type(argument)


def _copy(function: Any) -> types.FunctionType:
    copy = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _names(code: types.CodeType) -> Iterator[str]:
    """Returns the names that a function uses, also in functions inside of it."""
    inner = (_names(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return itertools.chain(code.co_names, *inner)


def _members(kind: type) -> list[Any]:
    """Returns names and values of a class by turns, without those that Python or JAX add later."""
    listed = [
        (name, value)
        for name, value in list(vars(kind).items())
        if isinstance(value, types.FunctionType | property | classmethod | staticmethod)
        or not name.startswith(("_", "__"))
    ]
    return list(itertools.chain.from_iterable(listed))


def _same(left: list[Any], right: list[Any]) -> bool:
    pairs = zip(left, right, strict=False)
    return len(left) == len(right) and all(
        x == y if isinstance(x, str) and isinstance(y, str) else x is y for x, y in pairs
    )


def _is_followed(x: Any) -> bool:
    """Returns whether a function, class or module belongs to azo or to its user."""
    name = x.__name__ if isinstance(x, types.ModuleType) else getattr(x, "__module__", None)
    return name != __name__ and str(name).partition(".")[0] not in _LIBRARIES
