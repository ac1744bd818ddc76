"""These tests cover published figures: deviations, what was fitted, and the table of doc/model.md."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trellis.campaign.files import load_machine, published_machine_names
from trellis.commands.cli import app
from trellis.errors import BadArgument
from trellis.model.machine import load_hardware
from trellis.model.published import balance, bfs, daint, glass, glass_ranks, slices
from trellis.model.published.mapping_rows import broken_at, surface_gain
from trellis.model.published.table import GROUPS, markdown, published_rows, summary

PAGE = Path(__file__).resolve().parents[3] / "doc" / "model.md"


def test_the_balance_table_to_the_printed_digit() -> None:
    for local, per_node, published in balance.TABLE:
        assert round(balance.needed_gbs(local, per_node), 1) == published


def test_the_window_of_the_balance_table() -> None:
    """All five rows leave less than a third of a GF/s for the speed of a GPU."""

    def rounds(speed: float) -> bool:
        return all(round(balance.needed_gbs(local, n, speed), 1) == gbs for local, n, gbs in balance.TABLE)

    found = [speed / 100 for speed in range(13000, 14000) if rounds(speed / 100)]
    assert 134.7 < min(found) <= 135 <= max(found) < 135.2


def test_daint_is_fitted_on_few_nodes_and_predicts_more() -> None:
    of = daint.fitted()
    assert not of.fit.undetermined
    assert of.fit.points == 36
    rows = [row for row in daint.rows() if row.kind == "checked"]
    found = summary(rows)
    assert found["numbers"] == 16
    assert found["rms"] <= 0.10
    assert found["within_10_percent"] >= 14
    assert found["worst"] <= 0.25
    left = [row for row in daint.rows() if row.kind == "predicted"]
    assert len(left) == 20
    assert all(row.published is None and "90 % band" in row.note for row in left)


def test_the_glass_hides_its_network_on_four_gpus() -> None:
    assert glass.card_rate() == pytest.approx(1.03e9, rel=0.01)
    assert glass.skew_seconds() == pytest.approx(31e-6, rel=0.02)
    assert glass.total_ps(8) == pytest.approx(glass.TOTAL[8], rel=0.03)
    assert glass.network_ps(8, skew=0.0) == pytest.approx(0.69 * glass.NETWORK[8], rel=0.01)


def test_nodes_that_break_the_box() -> None:
    assert broken_at(4, "tzyx") == [3, 6, 12]
    assert broken_at(8, "tzyx") == [3, 6, 12, 24]
    assert broken_at(2, "tzyx") == broken_at(4, "xyzt") == broken_at(8, "xyzt") == []
    assert surface_gain(6, 4) == 2.5


def test_other_relations() -> None:
    assert bfs.constants("InfiniBand").bytes_per_second == pytest.approx(1.54e9, rel=0.01)
    assert bfs.constants("APEnet+").bytes_per_second == pytest.approx(5.2e9, rel=0.01)
    assert slices.quong_speed_up(48, 2) == pytest.approx(1.89, rel=0.01)
    assert slices.exchange_planes(64, 16, 10.0) == pytest.approx(4.4)


def test_what_counts_is_near() -> None:
    """Every checked number but those that the table explains is within ten percent or nearly so."""
    far = [
        row.figure
        for row in published_rows()
        if row.kind == "checked" and row.deviation is not None and abs(row.deviation) > 0.13
    ]
    assert far == ["network, 8 GPUs, without that constant, ps a spin", "Sierra, jobs of 4 nodes on 3388, PF"]
    assert all(row.agrees is not False for row in published_rows())


def test_every_row_says_what_it_is_worth() -> None:
    for row in published_rows():
        assert row.note
        if row.kind in ("input", "fitted"):
            assert row.published is not None
        if row.kind == "input":
            assert row.deviation == 0
        if isinstance(row.model, float):
            assert math.isfinite(row.model)
            assert row.model > 0


@pytest.mark.parametrize("name", published_machine_names())
def test_published_machines_are_valid(name: str) -> None:
    assert load_hardware(name).device.memory
    if load_hardware(name).nodes.count < 1000:
        load_machine(name)


def test_the_page_has_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = markdown(published_rows())
    assert table in text, "doc/model.md: put the output of `trellis model published --markdown` in its place"


def test_scaling_of_the_glass_over_ranks() -> None:
    """On two ranks both faces go to one neighbour: 2 faces x 256^2 / 2 spins x 12 bytes go twice a sweep."""
    row = glass_ranks.rank_row(2)
    assert (row.messages, row.sent_bytes) == (2, 2 * 2 * 256**2 / 2 * 12)
    cube = glass_ranks.rank_row(64)
    assert cube.grid == (4, 4, 4)
    assert (cube.messages, cube.sent_bytes) == (12, 2 * 6 * 64**2 / 2 * 12)
    assert glass_ranks.markdown() in (PAGE.parent / "glass.md").read_text(encoding="utf-8")


def test_the_command() -> None:
    ended = CliRunner().invoke(app, ["model", "published", "balance", "--json"])
    found = json.loads(ended.stdout)
    assert [row["kind"] for row in found["rows"]] == ["checked"] * 5
    assert found["summary"]["numbers"] == 5
    assert CliRunner().invoke(app, ["model", "published", "quong"]).exit_code == 0
    with pytest.raises(BadArgument, match="expected one of balance"):
        published_rows("balances")
    assert "daint" in GROUPS
