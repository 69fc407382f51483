"""The page in a browser: play against azo and analyse games.

Read `messages` (requests, answers and games), `sessions` (who may search, and the searches), `app`
(the routes), `guard` (foreign hosts and origins), and `server` (the socket and the deadlines of
connections). The page itself is in `static`, where `offline.js` stands in for the server in the
file of an analysed game. This room must not know networks or files of games.
"""
