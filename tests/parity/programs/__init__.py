"""Programs as a user of torch writes them; each function is one, and `see` is what it shows."""
