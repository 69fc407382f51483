"""The process that azo runs in: signals, threads, compiled programs, devices and the terminal.

Read `interruption` (Ctrl-C and signals that end a process), `threads`, `program_cache` (compiled
programs on disk), `code_identity` (programs are compiled again when their code has changed),
`console` (progress and messages of long commands) and `extras` (optional packages). Several
processes of one run agree by `distributed`, and `coordinator` is the program that joins them.
"""
