"""Inputs of other programs are refused at conversion if `trellis generate` would refuse the result."""

from __future__ import annotations

from pathlib import Path

import pytest
from inputs_of_peers import OPENACC, OPENQCD

from trellis.commands.cli import app
from trellis.errors import BadArgument
from trellis.peer_inputs import from_openacc, from_openqcd


def test_extents_that_generate_refuses() -> None:
    with pytest.raises(BadArgument, match=r"extents \(--lattice\) = \[8, 8, 8, 7\]: lattice\.extents: "):
        from_openqcd(OPENQCD, extents=(8, 8, 8, 7))


@pytest.mark.parametrize("change", [("StoreConfInterval 10", "StoreConfInterval 0"), ("nx 8", "nx 5")])
def test_the_command_refuses_what_generate_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str]
) -> None:
    source, target = tmp_path / "input", tmp_path / "run.toml"
    source.write_text(OPENACC.replace(*change))
    with pytest.raises(SystemExit) as end:
        app(["convert-input", str(source), "--from", "openacc", "--output", str(target)])
    assert end.value.code == 1
    with pytest.raises(BadArgument) as error:
        from_openacc(source.read_text())
    assert capsys.readouterr().err.strip() == f"error: {source}: {error.value}"
    assert not target.exists()
