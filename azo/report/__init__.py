"""The report of a run: figures drawn by plotly, and the page that holds them.

`run_log` has the metrics of a run, and `panels` makes plots of them. The figures are in `figures`,
most of them listed in `figures.toml`; `page` renders them as HTML. Only `run_log` imports without
plotly.
"""
