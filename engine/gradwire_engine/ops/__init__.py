"""The ops, family by family; importing this package fills the catalogue."""
