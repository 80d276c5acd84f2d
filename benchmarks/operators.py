"""Does every operator of the numpy runtime compute what onnxruntime computes, whatever its attributes and shapes?

usage: python -m benchmarks.operators [--print] [--examples N] [operator ...]
every operator that both have, without a name; --print keeps nothing and shows what is not the same
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from hypothesis import HealthCheck, Phase, given, settings

from benchmarks.kept import keep
from benchmarks.operator_cases import OPERATORS, Case, cases
from benchmarks.operator_cases.compare import KINDS, Outcome, compare
from benchmarks.operator_cases.known import KNOWN, Known, known_difference

_EXAMPLES = 300
_SHOWN = 3
"""Cases of each kind that --print shows."""


def attempts(name: str, examples: int) -> list[tuple[Case, Outcome]]:
    """That many random cases of an operator, always the same ones."""
    found: list[tuple[Case, Outcome]] = []

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(name))
    def attempt(case: Case) -> None:
        found.append((case, compare(case)))

    attempt()
    return found


def row(name: str, found: Sequence[tuple[Case, Outcome]]) -> tuple[str, list[Known]]:
    """A line of the table, and the differences that explain it."""
    counts = Counter(outcome.kind for _, outcome in found)
    odd = [case for case, outcome in found if outcome.kind in ("differs", "refused by numpy")]
    explained = [known for case in odd if (known := known_difference(case)) is not None]
    right = ", ".join(sorted({known.right for known in explained})) + (" ?" if len(explained) < len(odd) else "")
    cells = [name, str(len(found)), *(str(counts[kind]) for kind in KINDS), right]
    return f"| {' | '.join(cells)} |", list(dict.fromkeys(explained))


def table(names: Sequence[str], examples: int, show: bool) -> list[str]:
    """One line per operator, and below it what is different and which side is right."""
    lines = [f"| operator | tried | {' | '.join(KINDS)} | right |", "|---|" + "---:|" * (len(KINDS) + 1) + "---|"]
    explained: list[Known] = []
    total: Counter[str] = Counter()
    for name in names:
        found = attempts(name, examples)
        total.update(outcome.kind for _, outcome in found)
        line, known = row(name, found)
        lines.append(line)
        explained += known
        if show:
            _show(found)
    lines.append(f"| all {len(names)} | {total.total()} | {' | '.join(str(total[kind]) for kind in KINDS)} | |")
    return [
        *lines,
        "",
        *(f"- {each.operators}: {each.why} Right: {each.right}." for each in KNOWN if each in explained),
    ]


def _show(found: Sequence[tuple[Case, Outcome]]) -> None:
    for kind in KINDS[1:]:
        odd = [(c, o) for c, o in found if o.kind == kind and (known_difference(c) is None or "refused" in kind)]
        for case, outcome in odd[:_SHOWN]:
            print(f"  {kind}: {case}: {outcome.detail[:200]}", file=sys.stderr)


def main(arguments: Sequence[str]) -> None:
    words, examples, show = [word for word in arguments if word != "--print"], _EXAMPLES, "--print" in arguments
    if "--examples" in words:
        place = words.index("--examples")
        examples = int(words[place + 1])
        del words[place : place + 2]
    lines = table(words or sorted(OPERATORS), examples, show)
    if show:
        print("\n".join(lines))
    else:
        keep("Single operators: the numpy runtime and onnxruntime", lines)


if __name__ == "__main__":
    main(sys.argv[1:])
