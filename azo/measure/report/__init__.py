"""The report of a run: figures drawn with matplotlib, and the page that holds them.

`run_log` reads the metrics. `panels` draws on matplotlib's axes. The figures are in `figures` and
`rating_figures`; `page` renders them as HTML. Only `run_log` imports without matplotlib.
"""
