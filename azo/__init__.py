"""azo learns Othello from its rules alone; the rooms of this package are listed in the README."""
