"""Steps over a WebSocket: frames on one side, the same requests as over HTTP on the other."""
