"""Credentials inside URLs, HTTP headers and command lines."""

from __future__ import annotations

import base64
import binascii
import re

from shared.screening.detectors import Detector, by_pattern
from shared.screening.values import is_password, is_placeholder, looks_like_secret


def detectors() -> tuple[Detector, ...]:
    return (
        # Beyond the library's basic auth: no user name, and delimiters inside the password.
        by_pattern(
            "Password in connection string",
            r"(?<=://)[^\s:/@\"'<>`]{0,128}:([^\s/@\"'<>`][^\s@\"'<>`]{0,128}+)@[\w\[*$%{.-]",
            needles=("://",),
            confirm=is_password,
        ),
        by_pattern(
            "Authorization header",
            r"\bBearer ([\w.~+/-]{16,2048}+=*)",
            needles=("bearer ",),
            confirm=lambda value: looks_like_secret(value, length_min=16),
            flags=re.IGNORECASE,
        ),
        by_pattern(
            "Authorization header",
            r"\bBasic ([A-Za-z0-9+/]{8,512}+={0,2})",
            needles=("basic ",),
            confirm=_is_user_and_password,
            flags=re.IGNORECASE,
        ),
        by_pattern(
            "Password on command line",
            r"\b(?:curl|wget|https?|xh)\b[^\n]{0,100}? (?:-u|--user|-a|--auth)[ =]?"
            r"[\"']?[^\s:\"']{1,64}:([^\s\"']{3,128})",
            needles=(" -u", " --user", " -a", " --auth"),
            confirm=is_password,
        ),
        by_pattern(
            "Password on command line",
            # mysql reads a password only where it follows -p without a space
            r"\b(?:sshpass\b[^\n]{0,80}? -p ?|(?:mysql\w{0,10}|mariadb)\b[^\n]{0,100}? -p"
            r"|redis-cli\b[^\n]{0,100}? -a )"
            r"[\"']?([^\s\"']{6,128})",
            needles=("sshpass", "mysql", "mariadb", "redis-cli"),
            confirm=looks_like_secret,
        ),
        by_pattern(
            "Signed URL",
            r"[?&](?:sig|x-amz-signature|x-goog-signature|signature)=([A-Za-z0-9%+/_-]{40,1024})",
            needles=("sig",),
            confirm=lambda value: not is_placeholder(value),
            flags=re.IGNORECASE,
        ),
    )


def _is_user_and_password(encoded: str) -> bool:
    try:
        decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return False
    user, colon, password = decoded.partition(":")
    return bool(user and colon) and decoded.isprintable() and is_password(password)
