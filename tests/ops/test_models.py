"""Whether a name of a model can be loaded, where that cannot be told."""

from __future__ import annotations

import pytest

from ops import models
from shared.settings import Settings


@pytest.mark.parametrize(
    ("listing", "told"),
    [
        ("raise SystemExit(3)", "fastembed could not list its models (exit status 3)"),
        ("import time; time.sleep(600)", "fastembed did not list its models within 0 s"),
    ],
)
async def test_a_name_that_could_not_be_checked_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], listing: str, told: str
) -> None:
    # Fails without the print of `_check_known`: a wrong name was taken without a word, and the move waited for ever.
    monkeypatch.setattr(models, "_LIST", listing)
    if "sleep" in listing:
        monkeypatch.setattr(models, "LIST_S_MAX", 0)

    await models.check(Settings(embedding_provider="fastembed"), "no/such-model")

    assert capsys.readouterr() == ("", f"{told}: whether it knows no/such-model was not checked.\n")
