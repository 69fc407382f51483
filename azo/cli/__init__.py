"""The command line: one short module for each `azo COMMAND`.

A command reads its flags (`command_line`), calls one function of another layer and returns an exit
code. The first line of a command's docstring is its line in `azo --help`, and the docstring, which
has an example, opens `azo COMMAND --help`. No other layer imports this one.
"""
