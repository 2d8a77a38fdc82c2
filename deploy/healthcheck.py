"""Exit 0 when the server on this port (8000 without one) of this container is ready.

The image has no curl, and needs none.
"""

import sys
from http.client import HTTPConnection, HTTPException

TIMEOUT_S = 2


def ready(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(not ready(int(sys.argv[1]) if sys.argv[1:] else 8000))
