"""What uses azo as people do: commands, terminals, a front end, a browser."""
