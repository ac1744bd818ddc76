"""A run with TRELLIS_NO_SKIPS=1 fails where a test or a whole file is skipped; CI runs optional tests so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
TESTS = {
    "test_runs": "def test(): pass\n",
    "test_fails_as_expected": "import pytest\n@pytest.mark.xfail\ndef test(): assert False\n",
    "test_skips": "import pytest\ndef test(): pytest.skip('no such thing')\n",
    "test_marked": "import pytest\n@pytest.mark.skipif(True, reason='no such mark')\ndef test(): pass\n",
    "test_file": "import pytest\npytest.importorskip('no_such_package')\ndef test(): pass\n",
}


@pytest.mark.parametrize("name", TESTS)
def test_skips_fail_where_none_may_be(name: str, tmp_path: Path) -> None:
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / f"{name}.py").write_text(TESTS[name])
    is_skip = name not in ("test_runs", "test_fails_as_expected")
    for says_none in (False, True):
        found = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "."],
            cwd=tmp_path,
            env=os.environ | {"TRELLIS_NO_SKIPS": "1" if says_none else "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (found.returncode != 0) == (is_skip and (says_none or name == "test_file")), found.stdout
        assert ("TRELLIS_NO_SKIPS=1, and this is skipped: " in found.stdout) == (is_skip and says_none)
