"""Chains of calls on real sessions, and a small model that says what each must do."""
