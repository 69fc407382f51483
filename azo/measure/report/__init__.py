"""The report of a run: figures drawn with matplotlib, and the page that holds them.

`run_log` reads the metrics, and cuts a run into spans. `panels` draws on matplotlib's axes. The
figures are in `selfplay_figures`, `rating_figures` and `learning_figures`; `page` renders them as
HTML. Only `run_log` imports without matplotlib.
"""
