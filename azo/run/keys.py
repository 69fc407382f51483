"""Random keys on disk: typed keys as the bits that they are made of."""

from typing import Any

import jax


def without_keys(tree: Any) -> Any:
    """Returns a tree of arrays in which typed random keys are their bits."""
    return jax.tree.map(lambda x: jax.random.key_data(x) if _is_key(x) else x, tree)


def abstract_without_keys(tree: Any) -> Any:
    """Returns the shapes of `without_keys(tree)`; the tree may be one of shapes itself."""

    def strip(leaf: Any) -> Any:
        if not _is_key(leaf):
            return leaf
        bits = jax.eval_shape(jax.random.key_data, leaf)
        return jax.ShapeDtypeStruct(bits.shape, bits.dtype, sharding=leaf.sharding)

    return jax.tree.map(strip, tree)


def with_key(like: Any, leaf: jax.Array) -> jax.Array:
    """Returns a leaf, and a typed key made of it where `like` is a key."""
    if not _is_key(like):
        return leaf
    implementations: list[Any] = []
    # Traced, because an abstract key cannot be asked directly.
    jax.eval_shape(lambda key: implementations.append(jax.random.key_impl(key)), like)
    return jax.random.wrap_key_data(leaf, impl=implementations[0])


def _is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
