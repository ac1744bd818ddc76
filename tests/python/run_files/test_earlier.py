"""Words of the earlier language of run files are refused with the present ones, and records are read."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from test_run_files import GENERATE, MEASURE, STAGGERED

from trellis.errors import RunFileError
from trellis.run_files import GenerateRun, HmcRun, MeasureRun, parse_run_file
from trellis.run_files.earlier import quark_type, translate, translate_record, translate_state
from trellis.run_files.loading import validate_run

BITS = Path(__file__).resolve().parents[2] / "bits"
QUARK = 'type = "wilson"\nkappa = 0.13'
SEA = 'type = "staggered"\nn_f = 2\nmass = 0.5'
VALENCE = '[measure.fermions]\n[[measure.valence]]\nname = "v"\n'

#: Each entry says where an old word stands, the text, and what is said of it.
OLD_WORDS = [
    (MeasureRun, QUARK, "kappa = 0.13", 'fermion.type: missing; write type = "wilson"'),
    (MeasureRun, QUARK, "csw = 1.0\nkappa = 0.13", 'fermion.type: missing; write type = "clover"'),
    (
        MeasureRun,
        QUARK,
        'type = "wilson_clover"\nkappa = 0.13',
        'fermion.type: found "wilson_clover"; write type = "wilson"',
    ),
    (
        MeasureRun,
        QUARK,
        'type = "wilson_clover"\ncsw = 1.0\nkappa = 0.13',
        'fermion.type: found "wilson_clover"; write type = "clover"',
    ),
    (
        MeasureRun,
        QUARK,
        'type = "wilson_clover"\ntwisted_mass = 0.1\nkappa = 0.13',
        'fermion.type: found "wilson_clover"; write type = "twisted_mass"',
    ),
    (MeasureRun, QUARK, f"{QUARK}\ncsw = 0.0", 'fermion.csw: leave it out of type = "wilson"'),
    (
        MeasureRun,
        QUARK,
        'type = "moebius"\nmass = 0.1',
        'fermion.type: found "moebius"; write type = "domain_wall"',
    ),
    (
        MeasureRun,
        QUARK,
        f'{QUARK}\nboundary_t = "dirichlet"',
        'fermion.boundary_t: write boundary = [0.0, 0.0, 0.0, "dirichlet"] (x, y, z, t)',
    ),
    (
        MeasureRun,
        QUARK,
        f"{QUARK}\nboundary_space = [0, 0, 2]",
        "fermion.boundary_space: write boundary = [0, 0, 2, 1.0] (x, y, z, t)",
    ),
    (
        HmcRun,
        SEA,
        'type = "wilson"\ncsw = 1.0\nn_f = 2\nmass = 0.5',
        'fermions.0.type: found "wilson", which has no csw; write type = "clover"',
    ),
    (
        HmcRun,
        SEA,
        'type = "wilson"\ntwisted_mass = 0.1\nn_f = 2\nmass = 0.5',
        'fermions.0.type: found "wilson", which has no twisted_mass; write type = "twisted_mass"',
    ),
    (HmcRun, SEA, f"{SEA}\nepsilon = 0.0", 'fermions.0.epsilon: leave it out of type = "staggered"'),
    (
        GenerateRun,
        "[output]",
        f"{VALENCE}mass = 0.5\n[output]",
        'measure.valence.0.type: missing; write type = "staggered"',
    ),
    (
        MeasureRun,
        "[output]",
        "[smearing]\nstout_steps = 2\n[output]",
        "smearing.stout_steps: write stout = { rho = 0.1, steps = 2 }",
    ),
    (
        MeasureRun,
        "[output]",
        "[smearing]\nape_steps = 0\n[output]",
        "smearing.ape_steps: leave it out: links without steps stay as they are",
    ),
    (
        MeasureRun,
        "[output]",
        '[sink]\ntype = "gaussian"\n[source.links]\nflow_time = 1.0\n[output]',
        "source.links.flow_time: write flow = { time = 1.0 }",
    ),
    (
        HmcRun,
        "[molecular_dynamics]",
        "[molecular_dynamics]\nresidual = 1e-7",
        "molecular_dynamics.residual: write tolerance",
    ),
    (
        HmcRun,
        "[molecular_dynamics]",
        "[metropolis]\nresidual = 1e-9\n[molecular_dynamics]",
        "metropolis.residual: write tolerance",
    ),
    (
        HmcRun,
        "[molecular_dynamics]",
        "[metropolis]\nheat_bath_residual = 1e-9\n[molecular_dynamics]",
        "metropolis.heat_bath_residual: write heat_bath_tolerance",
    ),
    (
        GenerateRun,
        "[output]",
        f'{VALENCE}type = "staggered"\nmass = 0.5\n[measure.fermions]\nresidual = 1e-8\n[output]'.replace(
            "[measure.fermions]\n", "", 1
        ),
        "measure.fermions.residual: write tolerance",
    ),
    (
        GenerateRun,
        "over_relaxation = 4",
        "seed = 2",
        "heatbath.seed: write seed = 2 in [random]",
    ),
    (
        GenerateRun,
        "[output]",
        '[measure.loops]\nsmearing = "none"\n[output]',
        "measure.loops.smearing: leave it out",
    ),
    (
        GenerateRun,
        "[output]",
        f'{VALENCE}type = "hisq"\nmass = 0.5\nb = [0, 0, 1]\n[output]',
        "measure.valence.0.b: write background = { b = [0, 0, 1] }",
    ),
]


def text_of(model: type) -> str:
    return {MeasureRun: MEASURE, GenerateRun: GENERATE, HmcRun: STAGGERED}[model]


@pytest.mark.parametrize("model, present, old, said", OLD_WORDS, ids=lambda value: str(value)[-25:])
def test_an_old_word_is_refused_with_the_new_one(model: type, present: str, old: str, said: str) -> None:
    text = text_of(model)
    parse_run_file(text, model)
    assert text.count(present) == 1
    with pytest.raises(RunFileError) as refused:
        parse_run_file(text.replace(present, old), model, name="run.toml")
    head, *lines = str(refused.value).splitlines()
    assert head == "words of an earlier language of run files:"
    assert [line.split(": ", 1)[1] for line in lines] == [said]


@pytest.mark.parametrize("model, present, old, said", OLD_WORDS, ids=lambda value: str(value)[-25:])
def test_what_is_advised_is_accepted(model: type, present: str, old: str, said: str) -> None:
    """The content in the present language has no old words left."""
    content = translate(tomllib.loads(text_of(model).replace(present, old))).content
    assert not translate(content).old_words
    validate_run(content, model, "translated")


def test_words_that_belong_together_have_one_advice() -> None:
    """Weight, steps and kind of a smearing stood in several keys."""
    for text, model, advice in (
        (
            STAGGERED + "[smearing]\nrho = 0.12\nlevels = 2\n",
            HmcRun,
            "write stout = { rho = 0.12, steps = 2 }",
        ),
        (
            MEASURE + "[smearing]\nape_steps = 3\nape_alpha = 0.6\nape_spatial = true\n",
            MeasureRun,
            "write ape = { alpha = 0.6, steps = 3, spatial = true }",
        ),
        (
            GENERATE + '[measure.loops]\nsmearing = "stout"\nweight = 0.1\nlevels = 2\n',
            GenerateRun,
            "write smearing = { stout = { rho = 0.1, steps = 2, spatial = true } }",
        ),
        (
            GENERATE + VALENCE + 'type = "wilson"\nmass = 0.1\nrho = 0.1\nlevels = 1\n',
            GenerateRun,
            "write smearing = { stout = { rho = 0.1, steps = 1 } }",
        ),
    ):
        with pytest.raises(RunFileError) as refused:
            parse_run_file(text, model, name="run.toml")
        _, *lines = str(refused.value).splitlines()
        assert len(lines) >= 2
        assert all(line.endswith(f": {advice}") for line in lines), lines
        validate_run(translate(tomllib.loads(text)).content, model, "translated")


def test_all_old_words_are_named_at_once() -> None:
    text = MEASURE.replace(
        QUARK, 'type = "moebius"\nmass = 0.1\nboundary_t = "periodic"\nboundary_space = [0, 0, 0]'
    )
    with pytest.raises(RunFileError) as refused:
        parse_run_file(text, MeasureRun, name="run.toml")
    assert str(refused.value).splitlines() == [
        "words of an earlier language of run files:",
        'run.toml:4: fermion.type: found "moebius"; write type = "domain_wall"',
        "run.toml:6: fermion.boundary_t: write boundary = [0, 0, 0, 0.0] (x, y, z, t)",
        "run.toml:7: fermion.boundary_space: write boundary = [0, 0, 0, 0.0] (x, y, z, t)",
    ]


@pytest.mark.parametrize(
    "model, present, odd, key",
    [
        (GenerateRun, "[output]", "[measure.loops]\nsmearing = [1]\n[output]", "measure.loops.smearing"),
        (GenerateRun, "beta = 6.0", "beta = 6.0\ntype = []", "action.type"),
        (MeasureRun, QUARK, f"{QUARK}\nboundary_t = [0, 1]", "fermion.boundary_t"),
        (MeasureRun, QUARK, "type = [1]\nmass = 0.1", "fermion.type"),
        (HmcRun, "[output]", "smearing = 3\n[output]", "random.smearing"),
    ],
)
def test_a_value_of_another_kind_is_refused_by_its_key(model: type, present: str, odd: str, key: str) -> None:
    """A list in the place of a word ended in a TypeError."""
    with pytest.raises(RunFileError, match=rf": (\[)?{key}"):
        parse_run_file(text_of(model).replace(present, odd), model, name="run.toml")


def run_of(name: str, folder: str = ".") -> tuple[type, dict]:
    content = tomllib.loads((BITS / folder / f"{name}.toml").read_text())
    model = MeasureRun if "configurations" in content else GenerateRun if "sweeps" in content else HmcRun
    return model, content


@pytest.mark.parametrize("path", sorted((BITS / "first_language").glob("*.toml")), ids=lambda path: path.stem)
def test_both_languages_say_the_same(path: Path) -> None:
    """The run files of tests/bits say the same as 70dd047 took them, and as they are now."""
    folder = "." if (BITS / path.name).exists() else "earlier"
    model, present = run_of(path.stem, folder)
    _, old = run_of(path.stem, "first_language")
    expected = validate_run(present, model, path.name)
    found = validate_run(translate(old).content, model, path.name)
    assert found.model_dump() == expected.model_dump()


def test_a_record_that_has_every_key() -> None:
    """Keys of other types stood in records at their defaults; present records stay as they are."""
    old = {
        "type": "wilson_clover",
        "kappa": 0.12,
        "mass": None,
        "csw": 1.0,
        "boundary_t": "dirichlet",
        "boundary_space": None,
        "twisted_mass": 0.0,
        "b5": 1.5,
        "Ls": 12,
    }
    content = {"fermion": old, "flow": None}
    now = {
        "type": "clover",
        "kappa": 0.12,
        "mass": None,
        "csw": 1.0,
        "boundary": [0.0, 0.0, 0.0, "dirichlet"],
    }
    assert translate_record(content, 1) == {"fermion": now, "flow": None}
    assert translate_record({"fermion": now}, 1) == {"fermion": now}
    assert translate_record(content, 2) == content


def test_the_record_of_a_state() -> None:
    """The record has the sea, and the parameters of valence flavours by their names."""
    record = json.loads((BITS / "earlier" / "clover_run" / "checkpoint.000001.json").read_text())
    flavour = {"type": "wilson", "csw": 0.0, "kappa": 0.1, "epsilon": 0.0, "b": [0, 0, 0]}
    flavour |= {"rho": 0.1, "rho_mu_nu": None, "levels": 2}
    loops = {"spatial": 4, "smearing": "ape", "weight": 0.5, "levels": 2}
    record["measure"] = {
        "measure.fermions": {"vectors": 2},
        "measure.valence 'v'": flavour,
        "measure.loops": loops,
    }
    state = translate_state(record)
    (light,) = state["physics"]["fermions"]
    assert (light["type"], light["csw"]) == ("clover", 1.0)
    assert "epsilon" not in light
    smearing = {"ape": None, "stout": {"rho": 0.1, "steps": 2, "spatial": False}, "flow": None}
    assert state["measure"]["measure.valence 'v'"] == {"type": "wilson", "kappa": 0.1, "smearing": smearing}
    smearing = {"ape": {"alpha": 0.5, "steps": 2, "spatial": True}, "stout": None, "flow": None}
    assert state["measure"]["measure.loops"] == {"spatial": 4, "smearing": smearing}
    assert state["physics"]["smearing"] == {"ape": None, "stout": None, "flow": None}
    assert state["physics"]["metropolis"]["tolerance"] == 1e-10
    assert state["measure"]["measure.fermions"] == {"vectors": 2}
    state["provenance"]["run_file_language"] = 3
    assert translate_state(state) == state


def test_a_record_of_the_second_language_has_its_seed_moved_alone() -> None:
    """Words of the first language are no old words of the second: its tables stay as they are."""
    smearing = {"stout": {"rho": 0.1, "steps": 2, "spatial": False}}
    content = {"heatbath": {"seed": 5, "over_relaxation": 4}, "smearing": smearing}
    moved = {"heatbath": {"over_relaxation": 4}, "random": {"seed": 5}, "smearing": smearing}
    assert translate_record(content, 2) == moved
    assert translate_record(moved, 2) == moved
    assert translate_record(moved, 3) == moved


def test_a_seed_in_random_stays_beside_an_old_one() -> None:
    content = translate({"heatbath": {"seed": 5}, "random": {"seed": 6}}).content
    assert content == {"heatbath": {}, "random": {"seed": 6}}


@pytest.mark.parametrize(
    "attributes, type",
    [
        ({"fermion": "moebius"}, "domain_wall"),
        ({"fermion": "wilson_clover", "csw": 0.0}, "wilson"),
        ({"fermion": "wilson_clover", "csw": 1.0}, "clover"),
        ({"fermion": "wilson_clover", "csw": 1.0, "twisted_mass": 0.1}, "twisted_mass"),
        ({"fermion": "clover"}, "clover"),
        ({}, None),
    ],
)
def test_the_type_that_attributes_of_a_correlator_name(attributes: dict, type: str | None) -> None:
    assert quark_type(attributes) == type
