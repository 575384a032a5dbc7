"""`python -m tests.eval`: every strategy side by side over the graded set; `--check` holds the committed baseline."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.eval.graded import GradedSet
from tests.eval.measures import Scored, Summary, summary
from tests.eval.running import WORDS_ONLY, database, run
from tests.eval.strategies import BASELINE, DEFAULT, STRATEGIES
from tests.eval.vectors import Embeddings

BASELINE_FILE = Path(__file__).parent / "baseline.json"
TOLERANCE = 0.005
HELD = ("ndcg", "recall", "precision", "f1", "empty_of_unanswerable")

Results = dict[str, list[Scored]]


def main() -> int:
    arguments = _arguments()
    results = asyncio.run(_results())
    halves = [arguments.half] if arguments.half else ["tune", "report"]
    told = {half: _told(results, half) for half in halves}
    if arguments.json:
        print(json.dumps(told, indent=1, ensure_ascii=False))
    elif not arguments.check:
        for half in halves:
            _show(results, half)
    if arguments.write:
        BASELINE_FILE.write_text(json.dumps(_baseline(results), indent=1) + "\n", encoding="utf-8")
    return _check(results) if arguments.check else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.eval", description=__doc__)
    parser.add_argument("--half", choices=("tune", "report"), help="show one half only; tune on tune")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    parser.add_argument("--check", action="store_true", help="fail where the default fell below the baseline")
    parser.add_argument("--write", action="store_true", help="write the baseline anew")
    return parser.parse_args()


async def _results() -> Results:
    async with database() as url:
        return await run(url, GradedSet(), Embeddings())


def _half(scored: list[Scored], half: str) -> list[Scored]:
    return [one for one in scored if one.query.split == half]


def _kinds(scored: list[Scored]) -> dict[str, list[Scored]]:
    kinds: dict[str, list[Scored]] = {}
    for one in scored:
        kinds.setdefault(one.query.kind, []).append(one)
    return dict(sorted(kinds.items()))


def _told(results: Results, half: str) -> dict[str, object]:
    return {
        name: {
            "all": summary(_half(scored, half)).as_dict(),
            "kinds": {kind: summary(part).as_dict() for kind, part in _kinds(_half(scored, half)).items()},
        }
        for name, scored in results.items()
    }


def _baseline(results: Results) -> dict[str, dict[str, float]]:
    return {half: summary(_half(results[DEFAULT], half)).as_dict() for half in ("tune", "report")}


def _check(results: Results) -> int:
    """0, or 1 with what fell on stderr."""
    held = json.loads(BASELINE_FILE.read_text(encoding="utf-8"))
    fallen = [
        f"{half}: {measure} is {now[measure]:.4f}, the baseline {held[half][measure]:.4f}"
        for half, now in _baseline(results).items()
        for measure in HELD
        if now[measure] < held[half][measure] - TOLERANCE
    ]
    fallen += [
        f"{name}: {one.query.id} was answered with what is not live or not of the project"
        for name, scored in results.items()
        for one in scored
        if one.stale or one.leaks
    ]
    print("\n".join(fallen) or "The baseline holds.", file=sys.stderr)
    return 1 if fallen else 0


def _show(results: Results, half: str) -> None:
    table = _table(f"{half} half", "strategy")
    for name in (*STRATEGIES, WORDS_ONLY, DEFAULT):
        _row(table, name, summary(_half(results[name], half)))
    Console(width=160).print(table)
    table = _table(f"{half} half, the default by kind; beside it {BASELINE}", "kind")
    table.add_column("other: nDCG", justify="right")
    table.add_column("F1", justify="right")
    others = _kinds(_half(results[BASELINE], half))
    for kind, scored in _kinds(_half(results[DEFAULT], half)).items():
        other = summary(others[kind])
        _row(table, kind, summary(scored), f"{other.ndcg:.3f}", f"{other.f1:.3f}")
    Console(width=160).print(table)


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column(first)
    for heading in (
        "nDCG@10",
        "95 %",
        "recall@10",
        "precision",
        "F1",
        "empty where nothing answers",
        "stale",
        "leaks",
        "n",
    ):
        table.add_column(heading, justify="right")
    return table


def _row(table: Table, name: str, told: Summary, *more: str) -> None:
    table.add_row(
        name,
        f"{told.ndcg:.3f}",
        f"{told.ndcg_low:.3f}-{told.ndcg_high:.3f}",
        f"{told.recall:.3f}",
        f"{told.precision:.3f}",
        f"{told.f1:.3f}",
        f"{told.empty_of_unanswerable:.3f}",
        str(told.stale),
        str(told.leaks),
        str(told.queries),
        *more,
    )


if __name__ == "__main__":
    sys.exit(main())
