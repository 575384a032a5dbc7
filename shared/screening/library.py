"""The provider detectors of detect-secrets, held apart from its settings, filters, verification and files."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterator
from threading import Lock
from typing import TYPE_CHECKING

from shared.screening.detectors import Detector
from shared.screening.text import Text
from shared.screening.values import is_mixed, is_password, is_placeholder

if TYPE_CHECKING:
    from detect_secrets.plugins.base import RegexBasedDetector

_importing = Lock()


def detectors() -> tuple[Detector, ...]:
    """All plugins of detect-secrets 1.5 that know a provider.

    Left out: the entropy detectors (they flag sentences and commit hashes), the keyword detector (see
    assignments) and public IP addresses (no credential). Only a plugin's patterns and `analyze_string` are
    used: they are pure, where the library's scan functions keep global settings, log, honour
    "pragma: allowlist secret" and may verify a secret over the network.
    """
    with _importing:
        return tuple(
            _detector(plugin, needles, confirm) for plugin, needles, confirm in _without_side_effects(_plugins)
        )


_Confirm = Callable[[re.Match[str]], bool]
_Entry = tuple["RegexBasedDetector", tuple[str, ...], _Confirm]


def _plugins() -> list[_Entry]:
    from detect_secrets.plugins import (  # noqa: PLC0415
        artifactory,
        aws,
        azure_storage_key,
        basic_auth,
        cloudant,
        discord,
        github_token,
        gitlab_token,
        ibm_cloud_iam,
        ibm_cos_hmac,
        jwt,
        mailchimp,
        npm,
        openai,
        private_key,
        pypi_token,
        sendgrid,
        slack,
        softlayer,
        square_oauth,
        stripe,
        telegram_token,
        twilio,
    )

    # Three patterns of the library cost the square of a line or more (32,000 characters: "//" 7 s, "sk-"
    # 3.4 s, "eyJ" 0.6 s). These say the same anchored to the start of a token and without backtracking.
    class Jwt(jwt.JwtTokenDetector):
        denylist = [re.compile(r"(?<![\w-])eyJ[\w-]++={0,2}\.[\w-]++={0,2}", re.ASCII)]  # noqa: RUF012

    class Npm(npm.NpmDetector):
        denylist = [re.compile(r"/:_authToken=\s?+(npm_[^\s\"']++|[A-Fa-f0-9-]{36})")]  # noqa: RUF012

    class OpenAI(openai.OpenAIDetector):
        denylist = [re.compile(r"(?<![\w-])sk-(?=[\w-]{20,200}T3BlbkFJ)[\w-]++", re.ASCII)]  # noqa: RUF012

    return [
        (artifactory.ArtifactoryDetector(), ("AKC", "AP"), _mixes_inside),
        (aws.AWSKeyDetector(), ("AKIA", "ASIA", "ABIA", "ACCA", "A3T", "aws"), _is_no_digest),
        (azure_storage_key.AzureStorageKeyDetector(), ("accountkey=",), _is_real),
        (cloudant.CloudantDetector(), ("cl",), _is_real),
        (discord.DiscordBotTokenDetector(), ("M", "N", "O"), _mixes_inside),
        (github_token.GitHubTokenDetector(), ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _is_real),
        (gitlab_token.GitLabTokenDetector(), ("gl", "gr1348941"), _is_real),
        (ibm_cos_hmac.IbmCosHmacDetector(), ("secret",), _is_real),
        (Jwt(), ("eyJ",), _is_real),
        (mailchimp.MailchimpDetector(), ("-us",), _mixes_inside),
        (Npm(), ("_authtoken",), _is_real),
        (OpenAI(), ("T3BlbkFJ",), _is_real),
        (private_key.PrivateKeyDetector(), ("private key", "putty-user-key-file"), _has_key_body),
        (pypi_token.PypiTokenDetector(), ("pypi-",), _is_real),
        (sendgrid.SendGridDetector(), ("SG.",), _is_real),
        (slack.SlackDetector(), ("xox", "hooks.slack.com"), _is_real),
        (softlayer.SoftlayerDetector(), ("sl", "softlayer"), _is_real),
        (square_oauth.SquareOAuthDetector(), ("sq0csp-",), _is_real),
        (stripe.StripeDetector(), ("k_live_",), _is_real),
        (telegram_token.TelegramBotTokenDetector(), (":",), _is_no_digest),
        (twilio.TwilioKeyDetector(), ("AC", "SK"), _mixes_inside),
        (basic_auth.BasicAuthDetector(), ("://",), _is_password),
        # Last: any 44 characters behind "key" are its business, whoever made them.
        (ibm_cloud_iam.IbmCloudIamDetector(), ("key", "pwd", "pass", "token"), _has_both_cases),
    ]


def _detector(plugin: RegexBasedDetector, needles: tuple[str, ...], confirm: _Confirm) -> Detector:
    """The plugin's patterns find the place, which `analyze_string` loses; then the plugin decides."""

    def offsets(text: Text) -> Iterator[int]:
        for pattern in plugin.denylist:
            for match in pattern.finditer(text.plain):
                if confirm(match) and any(plugin.analyze_string(match[0])):
                    yield match.start()

    return Detector(str(plugin.secret_type), needles, offsets)


def _is_real(match: re.Match[str]) -> bool:
    return not is_placeholder(match[0])


def _is_password(match: re.Match[str]) -> bool:
    return is_password(match[1])


_INSIDE = re.compile(r"\d.*[A-Za-z]")


def _mixes_inside(match: re.Match[str]) -> bool:
    """A digit that is more than the number behind a name: APDUCommand2 is no Artifactory password."""
    return bool(_INSIDE.search(match[0])) and _is_real(match)


def _has_both_cases(match: re.Match[str]) -> bool:
    value = match[1]
    return is_mixed(value) and not value.isupper() and not value.islower() and _is_real(match)


_DIGEST = re.compile(r"[0-9a-f]{34,40}\W?\Z")


def _is_no_digest(match: re.Match[str]) -> bool:
    """A commit hash behind a number or the word aws is none of their keys."""
    return not _DIGEST.search(match[0]) and _is_real(match)


_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{32,}")
_KEY_BODY_WITHIN = 300


def _has_key_body(match: re.Match[str]) -> bool:
    """The library flags the header alone, which prose quotes too; a key has base64 behind it."""
    return bool(_KEY_BODY.search(match.string, match.end(), match.end() + _KEY_BODY_WITHIN))


def _without_side_effects(load: Callable[[], list[_Entry]]) -> list[_Entry]:
    """The library routes all warnings of the process into logging and logs plain text to stderr."""
    shown_by = warnings.showwarning
    plugins = load()
    if warnings.showwarning is not shown_by:
        logging.captureWarnings(False)
    logging.getLogger("detect-secrets").handlers.clear()
    logging.getLogger("detect-secrets").propagate = False
    return plugins
