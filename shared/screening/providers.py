"""Tokens of providers that detect-secrets 1.5 does not know, by their published prefixes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shared.screening.detectors import Detector
from shared.screening.text import Text
from shared.screening.values import is_placeholder

_IN_WORD = re.compile(r"[A-Za-z0-9_-]")

# name, literals of which one must be there (one with a capital letter: as it is written), pattern from the start of a
# word (an unbounded repeat only at its end: anything behind it could make the time square)
_PREFIXED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("Anthropic API key", ("sk-ant-",), r"sk-ant-[\w-]{20,}"),
    (
        "OpenAI API key",
        ("sk-proj-", "sk-svc", "sk-admin-", "sk-None-"),
        r"sk-(?:proj|svcacct|admin|None)-[\w-]{20,}",
    ),
    ("OpenRouter API key", ("sk-or-",), r"sk-or-v1-[0-9a-f]{40,}"),
    ("API key with prefix sk-", ("sk-",), r"sk-[A-Za-z0-9]{32,}"),
    ("GitHub fine-grained token", ("github_pat_",), r"github_pat_\w{22,}"),
    ("GitLab newer token", ("glrtr-", "glffct-", "glwt-"), r"gl(?:rtr|ffct|wt)-[\w-]{20,}"),
    ("Hugging Face token", ("hf_", "api_org_"), r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("Google API key", ("AIza",), r"AIza[\w-]{35}"),
    (
        "Google OAuth secret",
        ("GOCSPX-", "ya29.", "1//0"),
        r"(?:GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|1//0[\w-]{30,})",
    ),
    ("npm token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    (
        "Slack app or browser token",
        ("xapp-", "xoxc-", "xoxd-", "xoxe"),
        r"(?:xapp-\d-|xox[cde](?:\.xox[bp])?-)[\w%-]{16,}",
    ),
    (
        "Stripe key",
        ("_test_", "_live_", "whsec_"),
        r"(?:[sr]k_(?:test|live)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})",
    ),
    ("DigitalOcean token", ("_v1_",), r"do[opr]_v1_[a-f0-9]{64}"),
    ("Docker Hub token", ("dckr_",), r"dckr_[po]at_[\w-]{20,}"),
    ("Databricks token", ("dapi",), r"dapi[a-f0-9]{32}"),
    ("HashiCorp Vault token", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[\w-]{24,}"),
    ("Terraform Cloud token", (".atlasv1.",), r"\w{14}\.atlasv1\.[\w-]{60,}"),
    ("Shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("Linear API key", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("Notion token", ("ntn_", "secret_"), r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})"),
    ("Figma token", ("figd_",), r"figd_[\w-]{32,}"),
    ("Airtable token", ("pat",), r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("Atlassian token", ("ATATT3", "ATCTT3"), r"AT[AC]TT3[\w=-]{50,}"),
    ("Postman API key", ("PMAK-",), r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("New Relic key", ("NRAK-",), r"NRAK-[A-Z0-9]{27}"),
    ("Grafana token", ("glc_", "glsa_"), r"(?:glc_[A-Za-z0-9+/=]{32,}|glsa_[A-Za-z0-9]{32}_[a-f0-9]{8})"),
    ("Sentry token", ("sntrys_", "sntryu_"), r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    ("Supabase key", ("sbp_", "sb_secret_"), r"(?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,})"),
    ("Replicate token", ("r8_",), r"r8_[A-Za-z0-9]{37}"),
    ("Groq API key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    ("xAI API key", ("xai-",), r"xai-[A-Za-z0-9]{60,}"),
    ("Perplexity API key", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}"),
    ("LangSmith key", ("lsv2_",), r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    ("Pinecone key", ("pcsk_",), r"pcsk_\w{40,}"),
    ("age secret key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("Tailscale key", ("tskey-",), r"tskey-[a-z]{3,10}-[\w-]{20,}"),
    ("Doppler token", ("dp.",), r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    ("Netlify token", ("nfp_",), r"nfp_[A-Za-z0-9]{36,}"),
    ("Mailgun key", ("key-",), r"key-[0-9a-f]{32}"),
    ("Square token", ("EAAA", "sq0atp-"), r"(?:EAAA[\w-]{60}|sq0atp-[\w-]{22,})"),
    ("Brevo key", ("xkeysib-",), r"xkeysib-[a-f0-9]{64}-\w{16}"),
    ("Amazon Bedrock key", ("ABSK",), r"ABSK[A-Za-z0-9+/]{100,}"),
    ("Entra ID client secret", ("Q~",), r"\w[\w~.-]{2}\dQ~[\w~.-]{31,34}"),
    ("RubyGems key", ("rubygems_",), r"rubygems_[a-f0-9]{48}"),
    ("crates.io token", ("cio",), r"cio[A-Za-z0-9]{32}"),
    ("Heroku key", ("HRKU-",), r"HRKU-[\w-]{36,}"),
    ("PlanetScale token", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,}"),
    ("Pulumi token", ("pul-",), r"pul-[a-f0-9]{40}"),
    ("CircleCI token", ("CCIPAT_",), r"CCIPAT_[\w-]{40,}"),
    ("SonarQube token", ("squ_", "sqp_", "sqa_"), r"sq[upa]_[a-f0-9]{40}"),
    ("PyPI API token", ("pypi-AgE",), r"pypi-AgE[\w-]{50,}"),
    ("Fly.io token", ("fm2_", "fo1_"), r"(?:fm2_[A-Za-z0-9+/=]{60,}|fo1_[\w-]{40,})"),
    # Our own, see shared/api_tokens.py: 32 random bytes have letters of both cases.
    ("memhub token", ("mh_",), r"mh_(?=[\w-]{0,42}[A-Z])(?=[\w-]{0,42}[a-z])[\w-]{43}(?![\w-])"),
    ("Discord webhook", ("api/webhooks/",), r"discord(?:app)?\.com/api/webhooks/\d{17,20}/[\w-]{60,}"),
)


def detectors() -> tuple[Detector, ...]:
    return tuple(_prefixed(name, needles, pattern) for name, needles, pattern in _PREFIXED)


def _prefixed(name: str, needles: tuple[str, ...], pattern: str) -> Detector:
    """The start of the word is checked after the match: a pattern that opens with a literal is fast."""
    regex = re.compile(pattern, re.ASCII)

    def offsets(text: Text) -> Iterator[int]:
        for match in regex.finditer(text.plain):
            before = text.plain[match.start() - 1 : match.start()]
            if not _IN_WORD.match(before) and not is_placeholder(match[0]):
                yield match.start()

    return Detector(name, needles, offsets)
