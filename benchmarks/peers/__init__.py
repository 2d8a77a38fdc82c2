"""The other sides: small programs written with each one's public interface."""
