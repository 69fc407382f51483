"""Networks as they are before training, in a folder."""

import jax

from azo.learning import network
from azo.run import network_files
from support import tiny_run


def export(folder, rules, **sections):
    """Saves the network of `tiny_run` with other settings, and returns its folder."""
    settings = tiny_run.settings(**sections)
    variables = network.init(rules, settings.network, jax.random.key(0))
    network_files.save(folder, variables, settings)
    return folder
