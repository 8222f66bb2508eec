"""A learner's files survive kill -9 at any moment; `kill_loop.py` says how that is tried."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from .toy import posix_only

ROOT = Path(__file__).resolve().parents[2]


@posix_only
def test_kill_at_random_moments(tmp_path: Path) -> None:
    for name in ("solutions", "exercises"):
        (tmp_path / name).mkdir()
        shutil.copy(ROOT / "solutions" / "ex04_decode_bottleneck.py", tmp_path / name)
    (tmp_path / "tmp").mkdir()
    script = Path(__file__).with_name("kill_loop.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path, "1", "220"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    killed = json.loads(done.stdout.splitlines()[-1])
    assert sum(killed.values()) >= 200
    assert min(killed.values()) >= 3
    assert (tmp_path / ".fdlib" / "progress.json").is_file()
    for folder in ("exercises", ".fdlib", ".fdlib/backups"):
        assert not list((tmp_path / folder).glob(".*.tmp"))
