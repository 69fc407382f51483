"""Stand-ins for networks, evaluations, games and engines."""
