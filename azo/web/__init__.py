"""The page in a browser: play against azo and analyse games.

Read `messages` (requests, answers and games), `sessions` (who may search, and the searches), `app`
(the routes), `guard` (foreign hosts and origins), and `server` (the socket and the deadlines of
connections). The page itself is in `static`; `static_page` writes it as a file without a server.
This layer must not know networks.
"""
