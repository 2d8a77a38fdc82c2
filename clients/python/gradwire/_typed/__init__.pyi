"""What type checkers and editors know of the ops; nothing of it is there when a program runs."""
