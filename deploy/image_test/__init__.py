"""Builds the image without a container engine, and tests what came out."""
