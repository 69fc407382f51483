"""What goes wrong below azo: damage, disk errors, traps, failing system calls."""
