"""Files that a crash or a full disk leaves whole.

Read `files` (whole files, plain or gzipped, and checksums of a folder), `locks` (one writer at a
time), `journal` (records, one per line) and `descriptors` (which links are followed). Nothing here
knows of Othello.
"""
