"""The service: sessions on plain objects (host) and the HTTP in front of them (http)."""
