"""Front ends of text: `terminal` with `interruptible` and `kept_game`, `gtp`, `nboard`."""
