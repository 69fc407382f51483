"""The batched solver: exact endgames inside compiled programs.

Reading order: `batched` (queue of positions, and the solution), `lanes` (alpha-beta searches side
by side). Like the rest of the compiled code, it reads no files and no clock.
"""
