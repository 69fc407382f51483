"""HTML pages with plots; a page needs no other file."""

import html
import string

import plotly.offline

_PAGE = string.Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc }
p { max-width: 60rem }
table { border-collapse: collapse } td, th { text-align: left; padding: .1rem 1.5rem .1rem 0 }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr));
  gap: 1rem }
.plotly-graph-div { min-height: 24rem }
pre { overflow: auto; background: #f6f6f6 }
</style><script>$script</script></head><body>
<h1>$title</h1>
$body
</body></html>
""")


def page(title: str, body: str) -> str:
    """Returns a page, given its title as text and its body as HTML."""
    script = plotly.offline.get_plotlyjs()
    return _PAGE.substitute(title=html.escape(title), script=script, body=body)
