"""Comparisons of recipes: `run_queue` reads a queue of arms, `queue_runner` trains and plays them.

`comparison` has the statistics and the table.
"""
