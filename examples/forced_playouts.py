"""A rule of your own: PUCT with the forced playouts of KataGo (arXiv:1902.10565) at the root.

azo train --config tictactoe --search.algorithm examples.forced_playouts:ForcedPlayouts --minutes 2
"""

import jax.numpy as jnp

from azo.search import puct

SCALE = 2.0


class ForcedPlayouts(puct.Puct):
    """Gives each move that the root has tried at least `sqrt(2 * P * N)` visits.

    So noise in the prior has time to show that a move is good. KataGo takes forced visits out of
    the policy target again; this example does not.
    """

    def select_at_root(self, root):
        """Returns the slots `[B]` of the moves that the next simulation follows."""
        needed = jnp.sqrt(SCALE * jnp.exp(root.logits) * root.visits[:, None])
        is_short = root.is_open() & (root.move_visits > 0) & (root.move_visits < needed)
        usual = super().select_at_root(root)
        return jnp.where(is_short.any(axis=-1), jnp.argmax(is_short, axis=-1), usual)
