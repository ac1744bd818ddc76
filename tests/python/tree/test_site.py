"""The pages of the site that are made from sources have all of them; the step documents of CI builds it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trellis
from trellis.commands.schema import KINDS

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import site_commands  # noqa: E402
import site_docstrings  # noqa: E402
import site_keys  # noqa: E402
import site_names  # noqa: E402
import site_notebooks  # noqa: E402

NOTEBOOKS = sorted((ROOT / "doc" / "tutorials").glob("*.ipynb"))


def all_keys(schema: dict) -> set[str]:
    tables = [schema, *schema.get("$defs", {}).values()]
    return {key for table in tables for key in table.get("properties", {})}


@pytest.mark.parametrize("kind", KINDS)
def test_each_key_has_its_line(kind: str) -> None:
    schema = site_keys.schema_of(kind)
    text = site_keys.page(kind, schema)
    assert set(re.findall(r"^`(\w+)`$", text, re.MULTILINE)) == all_keys(schema)
    assert "any value" not in text
    targets = set(re.findall(r"^\((keys-[\w-]+)\)=$", text, re.MULTILINE))
    assert set(re.findall(r"\]\(#(keys-[\w-]+)\)", text)) <= targets


def test_a_key_has_type_limits_and_default() -> None:
    table = {
        "properties": {
            "n": {
                "type": "integer",
                "minimum": 1,
                "maximum": 2**31 - 1,
                "default": 3,
                "description": "a_b < c",
            },
            "part": {"items": {"$ref": "#/$defs/Part"}, "type": "array", "minItems": 1},
        },
        "required": ["part"],
        "$defs": {"Part": {"properties": {"x": {"anyOf": [{"type": "number"}, {"type": "null"}]}}}},
    }
    text = site_keys.page("measure", table)
    assert "`n`\n: *integer, at least 1; default `3`.*\n\n  a\\_b \\< c\n" in text
    assert (
        "`part`\n: *list (at least 1), each table; required.* Keys: [`[[part]]`](#keys-measure-part).\n"
        in text
    )
    assert "## `[[part]]`\n" in text
    assert "`x`\n: *number; optional.*\n" in text


def test_each_command_has_its_section() -> None:
    text = site_commands.page()
    names = {" ".join(words) for words, _ in site_commands.commands()}
    assert {"info", "measure", "campaign run", "docs", "schema"} <= names
    assert set(re.findall(r"^#{2,3} `trellis ([a-z -]+)`$", text, re.MULTILINE)) == names
    assert "`--lattice X.Y.Z.T`\n: Extents, for files that do not say them.\n" in text
    assert "--schema-hmc" not in text  # it is hidden
    assert "Wished by `--tune`; default: 0.85." in text
    assert r"with \[molecular\_dynamics\]" in text


def test_a_table_has_its_shortest_header() -> None:
    headers = [h for h in site_keys.tables(site_keys.schema_of("measure")).values() if "[smearing]" in h]
    assert headers
    assert all(own[0] == "[smearing]" for own in headers)


def test_each_public_name_has_its_place() -> None:
    pages = site_names.pages()
    names = site_names.public_names()
    listed = [name for page in names.values() for name in page]
    assert {f"trellis.{name}" for name in trellis.__all__} <= set(listed)
    assert set(trellis._SUBMODULES) == set(site_names.MODULES)
    described = re.findall(r"^\.\. auto(?!module)\w+:: ([\w.]+)$", "\n".join(pages.values()), re.MULTILINE)
    assert len(described) == len(set(described))
    assert set(described) == set(site_names.first_names(names).values())


def test_signs_of_formulas_are_no_marks() -> None:
    lines = ["|b - M x| / |b| of D_ and a * b, ``c * d``, :func:`read_gauge_field`."]
    assert site_docstrings.rewritten(lines, is_value=False) == [
        r"\|b - M x\| / \|b\| of D\_ and a \* b, ``c * d``, :func:`read_gauge_field`."
    ]
    attributes = ["Attributes", "----------", "mean, error", "    The mean."]
    assert site_docstrings.rewritten(attributes, is_value=False)[2] == "``mean``, ``error``"
    assert site_docstrings.rewritten(["Variance: of n."], is_value=True) == [": Variance: of n."]


def test_every_document_is_in_the_contents() -> None:
    """Sphinx says so, too; here the test says it without Sphinx."""
    index = (ROOT / "doc" / "site" / "index.md").read_text()
    contents = set(re.findall(r"^(?:.* <)?([\w/]+)>?$", index, re.MULTILINE))
    pages = {str(path.relative_to(ROOT).with_suffix("")) for path in (ROOT / "doc").rglob("*.md")}
    assert pages - contents - {"doc/site/index"} == set()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_hold_no_outputs(path: Path) -> None:
    kinds = [kind for kind, _ in site_notebooks.cells(path)]
    assert kinds[0] == "markdown"
    assert "code" in kinds
    compile(site_notebooks.program(path), str(path), "exec")
    assert f"({path.name})" in (ROOT / "doc" / "tutorials" / "README.md").read_text()


def test_outputs_are_refused_and_stripped(tmp_path: Path) -> None:
    cell = {
        "cell_type": "code",
        "source": ["1"],
        "outputs": [{"x": 1}],
        "execution_count": 4,
        "metadata": {"a": 1},
    }
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell]}))
    with pytest.raises(ValueError, match="cell 1 holds outputs"):
        site_notebooks.cells(tmp_path / "a.ipynb")
    (tmp_path / "a.ipynb").write_text(json.dumps(site_notebooks.stripped({"cells": [cell]})))
    assert site_notebooks.cells(tmp_path / "a.ipynb") == [("code", "1")]


def test_the_first_notebook_runs(tmp_path: Path) -> None:
    """The command tools/long_checks notebooks runs the others."""
    program = tmp_path / "first_pion.py"
    program.write_text(site_notebooks.program(ROOT / "doc" / "tutorials" / "first_pion.ipynb"))
    found = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    mass = re.search(r"a m of the pion: (\d\.\d+)\((\d+)\)", found.stdout)
    assert mass is not None, found.stdout
    assert (tmp_path / "first_pion" / "analysis" / "report.html").is_file()
