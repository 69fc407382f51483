"""Playing and analysing live games.

`engine/` plays one game, `protocols/` are its front ends of text, `analysis/` judges whole games,
`web/` is the page in a browser, and `watch/` a page that shows a run. This room must not know how a
network is trained, nor any command line.
"""
