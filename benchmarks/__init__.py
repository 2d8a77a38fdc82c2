"""What gradwire costs, as ratios within one run, against NumPy, torch, FastAPI and its rivals."""
