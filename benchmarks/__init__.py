"""Benchmarks of azo: each script answers one question; see README.md in this folder."""
