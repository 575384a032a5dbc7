"""Texts that were really embedded by the packaged model, kept under build/ from run to run, and vectors around them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import orjson

from shared.embedding.models import PACKAGED_MODEL
from shared.retrieval.meaning import Meaning
from tests.bench.options import Options
from tests.bench.sentences import gathered
from tests.eval.graded import GradedSet
from tests.eval.vectors import KEPT, Embeddings
from workers.embedding.embedder import Purpose, Vectors, normalised

FOLDER = KEPT.parent / "bench"

REAL = 20_000
REAL_QUICK = 200
QUERIES_OF_EACH = 100
QUERIES_OF_EACH_QUICK = 5
# Uniform in every dimension: neighbours lie at a cosine of .87, as texts that say one thing in other words do.
NOISE = 0.1
SEED = 20260801


@dataclass(frozen=True, slots=True)
class Meanings:
    """Unit vectors float32[n, 384]: `stored` of texts, `asked` of other texts and of questions about other things."""

    stored: Vectors
    asked: Vectors

    def filled(self, count: int) -> Vectors:
        """float32[count, 384]: what was really embedded, then vectors around it."""
        return around(self.stored, count)

    def queries(self) -> list[Meaning]:
        return [Meaning(vector=tuple(vector.tolist()), model=PACKAGED_MODEL) for vector in self.asked]


def around(real: Vectors, count: int) -> Vectors:
    """float32[count, 384]: the real ones, then others around them."""
    dice = np.random.default_rng(SEED)
    centres = real[np.arange(max(0, count - len(real))) % len(real)]
    noise = dice.uniform(-NOISE / 2, NOISE / 2, centres.shape).astype(np.float32)
    return np.concatenate([real[:count], normalised(centres + noise)])


def embedded(options: Options) -> Meanings:
    """The first run of a machine embeds for some five minutes; the others read what it kept."""
    texts = real_texts(options.count(REAL, REAL_QUICK))
    asked = options.count(QUERIES_OF_EACH, QUERIES_OF_EACH_QUICK)
    questions = [query.text for query in GradedSet().queries if query.split == "tune"][:asked]
    embeddings = Embeddings(FOLDER)
    stored = embeddings.of_texts(texts[asked:], Purpose.DOCUMENT)
    queries = embeddings.of_texts([*texts[:asked], *questions], Purpose.QUERY)
    embeddings.keep()
    return Meanings(stored=stored, asked=queries)


def real_texts(count: int) -> list[str]:
    """As many different texts as there are, up to that; gathering them takes a minute, once."""
    file = FOLDER / f"texts-{count}.json"
    if not file.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        file.write_bytes(orjson.dumps(gathered(count)))
    texts: list[str] = orjson.loads(file.read_bytes())
    return texts
