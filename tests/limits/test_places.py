from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared import limits
from shared.errors import InvalidArgument

ID = "0192f0c1-2b3c-7d4e-8f50-123456789abc"

ONE_REMOTE = [
    "git@github.com:Acme/Billing.git",
    "github.com:Acme/Billing",
    "ssh://git@github.com/Acme/Billing.git",
    "ssh://git@github.com:22/Acme/Billing",
    "git+ssh://git@GitHub.com/Acme/Billing.git",
    "https://github.com/Acme/Billing",
    "https://github.com/Acme/Billing.git/",
    "https://github.com:443/Acme//Billing.git",
    "HTTPS://GITHUB.COM./Acme/Billing",
    "https://x-access-token:s3cret@github.com/Acme/Billing.git",
    "https://s3cret@github.com/Acme/Billing.git",
    "https://user:p@s3cret@github.com/Acme/Billing.git",
    "https://github.com/Acme/Billing.git?private_token=s3cret",
    "https://github.com/Acme/Billing.git#s3cret",
    "user:s3cret@github.com:Acme/Billing.git",
    "us@er:s3cret@github.com/Acme/Billing.git",
    "git://github.com/Acme/Billing",
    "git@github.com:/Acme/Billing.git",
    " github.com/Acme/Billing\n",
]
OTHERS = {
    "ssh://git@git.acme.test:2222/a/b.git": "ssh://git.acme.test:2222/a/b",
    "https://u:s3cret@git.acme.test:8443/a/b.git": "https://git.acme.test:8443/a/b",
    "git@gitserver:team/repo.git": "gitserver/team/repo",
    "git@[2001:db8::1]:a/b.git": "[2001:db8::1]/a/b",
    "https://[2001:DB8::1]/a/b.git": "[2001:db8::1]/a/b",
    "/srv/git/a.git": "/srv/git/a",
    "/srv/git//a/.git/": "/srv/git/a",
    "file:///srv/git/a.git": "/srv/git/a",
    "C:\\git\\a.git": "C:/git/a",
    "c:/git/a": "C:/git/a",
    "s3://Bucket/a": "s3://bucket/a",
}
NO_REMOTE = [
    "",
    " ",
    "https://",
    "https:///a/b",
    "https://github.com",
    "https://github.com/.git",
    "../a",
    "./a",
]
NO_REMOTE += [
    "ext::sh -c s3cret",
    "https://user:s3cret/x@github.com/a/b",
    "https://[::1/a",
    "a\0b",
    "~/a",
    "/",
]
NO_REMOTE += ["https://github.com:s3cret/a/b", "host:", "git@host:a\nb", "user:s3c/ret@github.com:a/b"]


@pytest.mark.parametrize("spelling", ONE_REMOTE)
def test_every_spelling_of_a_remote_is_one_address(spelling: str) -> None:
    assert limits.git_remote(spelling) == "github.com/Acme/Billing"


@pytest.mark.parametrize(("remote", "canonical"), OTHERS.items())
def test_what_tells_remotes_apart_stays(remote: str, canonical: str) -> None:
    assert limits.git_remote(remote) == canonical


@pytest.mark.parametrize("remote", [*ONE_REMOTE, *OTHERS])
def test_a_canonical_remote_is_its_own_canonical_form(remote: str) -> None:
    canonical = limits.canonical_git_remote(remote)
    assert limits.canonical_git_remote(canonical) == canonical


@pytest.mark.parametrize("remote", NO_REMOTE)
def test_a_refused_remote_is_never_repeated(remote: str) -> None:
    with pytest.raises(InvalidArgument, match=r"^git_remote: ") as refused:
        limits.git_remote(remote)
    assert "s3c" not in refused.value.message + refused.value.next


SECRET = st.text(st.sampled_from("s3crt@:/?#%[]\\ .é"), max_size=8).map(lambda noise: noise + "SECRET")


@given(
    user=st.sampled_from(["git", "xy:", "a@b:", "oauth2:", "token"]),
    secret=SECRET,
    form=st.sampled_from(["https://{}@github.com/a/b.git", "ssh://{}@host:2222/a/b", "{}@host:a/b", "{}@h/a"]),
)
def test_a_password_is_never_part_of_the_address(user: str, secret: str, form: str) -> None:
    try:
        canonical = limits.canonical_git_remote(form.format(user + secret))
    except InvalidArgument as refused:
        canonical = refused.message + refused.next
    assert "secret" not in canonical.lower()


@given(st.text(max_size=40) | st.text(st.sampled_from("aA.:/@~[]\\?#git 1"), max_size=20))
def test_no_text_breaks_the_reading_of_a_remote(remote: str) -> None:
    try:
        canonical = limits.canonical_git_remote(remote)
    except InvalidArgument:
        return
    assert limits.canonical_git_remote(canonical) == canonical


def test_a_remote_is_bounded() -> None:
    assert limits.git_remote("host:" + "a" * 995)
    with pytest.raises(InvalidArgument, match=r"^git_remote: holds 1001 bytes"):
        limits.git_remote("host:" + "a" * 996)
    assert limits.git_remote(None) is None


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("/home/ann/app/", "/home/ann/app"),
        ("//home//ann/./app", "/home/ann/app"),
        ("/a b", "/a b"),
        ("file:///home/ann/a%20b", "/home/ann/a b"),
        ("file:///c:/src/app", "C:/src/app"),
        ("c:\\src\\App\\", "C:/src/App"),
        ("\\\\nas\\share\\app", "//NAS/SHARE/app"),
        ("\\\\nas\\share", "//NAS/SHARE/"),
    ],
)
def test_a_workspace_is_an_absolute_folder(path: str, canonical: str) -> None:
    assert limits.workspace_path(path) == canonical


@pytest.mark.parametrize("path", ["/", "//", "/./", "file:///", "c:\\", "C:/", "file:///C:/"])
def test_the_root_of_a_machine_is_nobodys_workspace(path: str) -> None:
    with pytest.raises(InvalidArgument, match=r"^workspace_path: is the root of the machine"):
        limits.workspace_path(path)


@pytest.mark.parametrize("path", ["", ".", "app", "./app", "~/app", "C:app", "/a\nb", "/a\0", "\ud800", 5])
def test_a_workspace_of_another_form_is_refused(path: object) -> None:
    with pytest.raises(InvalidArgument, match=r"^workspace_path: "):
        limits.workspace_path(path)


def test_a_workspace_is_bounded() -> None:
    assert limits.workspace_path("/" + "a" * 1_023)
    with pytest.raises(InvalidArgument, match=r"^workspace_path: holds 1025 bytes"):
        limits.workspace_path("/" + "a" * 1_024)
    assert limits.workspace_path(None) is None


def test_a_project_is_a_uuid_or_a_slug() -> None:
    assert limits.project(ID.upper()) == UUID(ID)
    assert limits.project("billing-api") == "billing-api"
    assert limits.project(None) is None


@pytest.mark.parametrize("slug", ["a0", "a" * 64, "a._-b", "0192f0c1"])
def test_a_slug_within_its_bounds_is_taken(slug: str) -> None:
    assert limits.slug(slug) == slug


@pytest.mark.parametrize("slug", ["", "a", "a" * 65, "-a", "a-", "A1", "a b", "a/b", "aé", "ab\n", ID, None, 5])
def test_a_slug_outside_its_bounds_is_refused(slug: object) -> None:
    with pytest.raises(InvalidArgument, match=r"^project: "):
        limits.slug(slug)


def test_tenant_and_conversation_name_the_header_they_came_from() -> None:
    assert limits.tenant("t" * 128) == "t" * 128
    assert limits.conversation("!" * 512) == "!" * 512
    for tenant in ("", "t" * 129, "-t", "t t", "té", "t\n", None):
        with pytest.raises(InvalidArgument, match=r"^X-Tenant-Id: "):
            limits.tenant(tenant, "X-Tenant-Id")
    for conversation in ("", "c" * 513, "c c", "é", "c\n", None):
        with pytest.raises(InvalidArgument, match=r"^X-Conversation-Id: "):
            limits.conversation(conversation)
