"""Inputs that libFuzzer finds by the code they reach, given to whatever reads a request's bytes."""
