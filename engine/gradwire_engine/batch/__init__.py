"""Values with a batch axis, and how every op applies to them: what vmap is made of."""
