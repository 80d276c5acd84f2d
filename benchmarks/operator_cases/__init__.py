"""Random cases of single operators; importing a module registers its operators."""

from benchmarks.operator_cases import elementwise, layers, others, shapes
from benchmarks.operator_cases.base import OPERATORS, Case, cases

__all__ = ["OPERATORS", "Case", "cases", "elementwise", "layers", "others", "shapes"]
