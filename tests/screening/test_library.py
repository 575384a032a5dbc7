"""How detect-secrets is used: late, whole, quiet, from any thread, and off the network."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

from shared.screening import library

LEFT_OUT = {"Base64 High Entropy String", "Hex High Entropy String", "Secret Keyword", "Public IP (ipv4)"}


def test_every_plugin_of_the_library_is_on_or_left_out_by_name() -> None:
    used = {detector.name for detector in library.detectors()}
    assert used | LEFT_OUT == set(get_mapping_from_secret_type_to_class())
    assert not used & LEFT_OUT


def test_the_library_is_imported_by_the_first_use_only() -> None:
    _run("""
        import shared.screening
        assert "detect_secrets" not in sys.modules
        assert "requests" not in sys.modules
        shared.screening.warm()
        assert "detect_secrets" in sys.modules
    """)


def test_warming_up_leaves_warnings_and_logging_as_they_were() -> None:
    # Without library._without_side_effects all warnings of the process go to logging.
    _run("""
        import logging, warnings
        before = warnings.showwarning
        from shared.screening import warm
        warm()
        assert warnings.showwarning is before
        assert not logging.getLogger("detect-secrets").handlers
        assert not logging.getLogger().handlers
    """)


def test_many_threads_may_make_the_first_call_together() -> None:
    _run("""
        from concurrent.futures import ThreadPoolExecutor
        from threading import Barrier
        from shared.screening import screen
        start = Barrier(8)
        def first(number):
            start.wait(30)
            return screen(f"line\\npassword: hunter{number}2secret")
        with ThreadPoolExecutor(8) as threads:
            found = set(threads.map(first, range(8)))
        assert len(found) == 1 and None not in found, found
    """)


def test_screening_opens_no_file_no_socket_and_no_process() -> None:
    _run("""
        from shared.screening import screen, warm
        warm()
        events = []
        sys.addaudithook(lambda event, _: events.append(event))
        key = "AKIA" + "ZQ3DRSTUVWXY7812"
        assert screen(f"aws: {key}") and screen("password: hunter2secret") and not screen("a plain note")
        forbidden = ("open", "socket.", "subprocess.", "os.", "import")
        assert not [event for event in events if event.startswith(forbidden)], events
    """)


def _run(program: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", "import sys\n" + dedent(program)], check=True, timeout=180)
