"""Programs for the work on azo itself."""
