"""What the commands of `gradwire` do, each imported when it is called."""
