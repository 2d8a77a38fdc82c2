"""The pages that are made from the code: `make docs` writes them, a test holds them current."""
