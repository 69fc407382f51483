"""A page that shows a run while it trains: `app` answers its requests, `static` is the page."""
