"""azo behind the interfaces of other programs.

`mctx` has the policies of mctx with a faster search.
"""
