"""Programs for the work on azo itself; `ablate` compares recipes."""
