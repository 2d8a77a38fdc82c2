"""Bodies: what a request's bytes say, and a reply as bytes."""
