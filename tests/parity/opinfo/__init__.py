"""torch's own table of ops and samples, on torch and on gradwire's SDK."""
