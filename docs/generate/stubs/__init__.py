"""The SDK's `.pyi` files: what an editor and a type checker know of functions and methods.

`results` says what a call gives, `calls` how it can be written, `files` puts both into modules.
"""
