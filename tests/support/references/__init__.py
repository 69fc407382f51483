"""Independent answers to compare azo with: plain rules, published games, other programs' trees."""
