"""Ratings on the fixed ladder: `matches` plays them, `records` keeps them with what a run took."""
