"""The sum of squares of three numbers as a UM-Bridge model: `python umbridge_model.py PORT`."""

# ruff: noqa: ARG002 - the interface is theirs

import sys
from typing import Any

import umbridge  # type: ignore[import-not-found]


class SumOfSquares(umbridge.Model):  # type: ignore[misc]
    """y = x . x"""

    def __init__(self) -> None:
        super().__init__("forward")

    def get_input_sizes(self, config: dict[str, Any]) -> list[int]:
        return [3]

    def get_output_sizes(self, config: dict[str, Any]) -> list[int]:
        return [1]

    def __call__(self, parameters: list[list[float]], config: dict[str, Any]) -> list[list[float]]:
        return [[sum(x * x for x in parameters[0])]]

    def gradient(
        self,
        out_wrt: int,
        in_wrt: int,
        parameters: list[list[float]],
        sens: list[float],
        config: dict[str, Any],
    ) -> list[float]:
        return [2 * x * sens[0] for x in parameters[0]]

    def supports_evaluate(self) -> bool:
        return True

    def supports_gradient(self) -> bool:
        return True


if __name__ == "__main__":
    umbridge.serve_models([SumOfSquares()], port=int(sys.argv[1]))
