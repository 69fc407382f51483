"""Comparisons of recipes: many short runs, and their matches.

Read `run_queue` first, which reads a queue of arms, then `queue_runner`, which trains and plays
them, then `comparison`, which has the statistics and the table.
"""
