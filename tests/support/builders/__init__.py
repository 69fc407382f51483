"""Inputs for tests: games, plies, runs, tournaments, files of other programs."""
