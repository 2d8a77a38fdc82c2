"""Random functions, and every way to their derivatives, on torch and here.

A function is data: steps drawn from a seed (`function.py`, of the kinds in `kinds.py`). Its
derivatives are asked for in many ways (`ways.py`), all of which have to agree with torch.
"""
