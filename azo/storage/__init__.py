"""Files that a crash or a full disk leaves whole.

Read `files` (whole files, plain or gzipped, and checksums of a folder), `locks` (one writer at a
time) and `journal` (records, one a line). Nothing here knows of Othello.
"""
