"""HTTP in front of the host: routes, codec, errors, authentication, limits."""
