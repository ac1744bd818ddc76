"""Tables that programs write as TOML are the same tables when they are read."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from trellis.run_files.writing import to_toml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLAIN = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), TEXTS, st.just("\x7f\x00")
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=5))
@example({"0\n": {}})
def test_what_is_written_is_read(tables: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(tables)) == tables


def test_a_list_of_tables_has_one_below_the_other() -> None:
    tables = {
        "fermions": [{"name": "up", "rational": {"order": 5}}, {"name": "down"}],
        "integrator": [],
        "random": {"seed": 1},
    }
    assert to_toml(tables) == (
        "integrator = []\n\n"
        '[[fermions]]\nname = "up"\n\n[fermions.rational]\norder = 5\n\n'
        '[[fermions]]\nname = "down"\n\n'
        "[random]\nseed = 1\n"
    )
