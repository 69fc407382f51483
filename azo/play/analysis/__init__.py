"""Analysis of whole games: `game_analysis`, and its texts and page."""
