"""These tests cover links smeared under the operator: found in the provenance of result files, and kept off
by fixed sinks."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from test_analysis_fixed_sink import EXTENT, G_V, ensemble, sets_of

from trellis.analysis import analyze
from trellis.analysis.charges.link_smearing import off_smeared_links, smearing_in_time
from trellis.analysis.readers.measurement_files import read_measurements
from trellis.analysis.records.charge_results import ChargeOptions
from trellis.analysis.records.measurements import InputFile, Measurements
from trellis.analysis.records.results import Results

FLOW = {"smearing": {"flow_time": 1.0, "stout_steps": 0, "stout_rho": 0.1, "ape_steps": 0}}
SEPARATIONS = (4, 5, 6, 7)


def said(physics: object = None, run_file: str | None = None) -> Measurements:
    found = Measurements()
    attributes = {} if physics is None else {"physics": physics}
    found.files.append(InputFile("a.h5", "measurement", 1, "", 1, attributes))
    if run_file is not None:
        found.run_files.append(run_file)
    return found


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (FLOW, "flow 1"),
        ({"smearing": {"stout_steps": 3, "stout_rho": 0.12, "flow_time": 0.0}}, "stout 0.12x3"),
        ({"smearing": {"stout_steps": 3, "stout_spatial": True}}, None),
        ({"smearing": {"stout_steps": 1, "stout_spatial": None}}, "stout 0.1x1"),
        ({"smearing": {"ape_steps": 2, "ape_alpha": 0.6, "ape_spatial": False}}, "ape 0.6x2"),
        ({"smearing": {"ape_steps": 2, "ape_spatial": True, "flow_time": 0.5}}, "flow 0.5"),
        ({"smearing": {"stout_steps": 0, "flow_time": 0.0}}, None),
        # These are sources on smeared links, and a flow of the gauge field that is only looked at.
        ({"smearing": {}, "source": {"links": {"flow_time": 2.0}}, "flow": {"t_max": 3.0}}, None),
        ({"smearing": None}, None),
        ({}, None),
        ([1, 2], None),
    ],
)
def test_what_the_tables_of_a_run_say(tables: object, expected: str | None) -> None:
    assert smearing_in_time(said(json.dumps(tables))) == expected


def test_the_text_of_the_run_file_where_there_are_no_tables() -> None:
    run_file = "[fermion]\nmass = 0.1\n[smearing]\nflow_time = 1\n"
    assert smearing_in_time(said(run_file=run_file)) == "flow 1"
    assert smearing_in_time(said(run_file="no TOML = = at all")) is None
    assert smearing_in_time(said(run_file="smearing = 3")) is None
    assert smearing_in_time(said("no JSON", run_file)) is None  # this file says something, and not this
    assert smearing_in_time(said(json.dumps({"smearing": {}}), run_file)) is None
    assert smearing_in_time(Measurements()) is None


def test_what_was_set_stays() -> None:
    assert off_smeared_links(ChargeOptions(), None).t_min_first == 1
    assert off_smeared_links(ChargeOptions(), "flow 1").t_min_first == 2
    for first in (0, 1, 3):
        assert off_smeared_links(ChargeOptions(t_min_first=first), "flow 1").t_min_first == first
    assert off_smeared_links(ChargeOptions(t_min_last=1), "flow 1").t_min_first == 1


def write(folder: Path, tables: dict, blur: float = 0.3) -> None:
    """Write currents that reach one slice: R at tau = 1 and t - 1 has `blur` of the contact terms in it."""
    C, inserted = ensemble(400, 31)
    t = np.arange(EXTENT)
    for C3 in inserted.values():
        wide = C3 + blur * (
            np.roll(C3, 1, axis=2) * (t == 1) + np.roll(C3, -1, axis=2) * (t == t[:, None] - 1)
        )
        C3[:] = np.where(t <= t[:, None], wide, 0.0)
    with h5py.File(folder / "correlators.h5", "w") as file:
        file.attrs.update({"kind": "measurement", "lattice": [8, 8, 8, EXTENT]})
        file.attrs["physics"] = json.dumps(tables)
        file["configurations"] = np.arange(len(C))
        for name, values in sets_of(C, inserted, SEPARATIONS).items():
            dataset = file.create_dataset(f"correlators/{name}", data=values[:, None, None] + 0j)
            kind = "three_point" if name.startswith("three") else "feynman_hellmann"
            dataset.attrs.update(
                {
                    "type": "baryon" if name == "nucleon" else kind,
                    "particle": "nucleon",
                    "boundary_t": "antiperiodic",
                    "source_smearing": "point",
                    "sink_smearing": "point",
                }
            )


def test_two_slices_are_kept_off_smeared_links(tmp_path: Path) -> None:
    """The slices beside source and sink are described by no fit; without them g_V is right."""
    write(tmp_path, FLOW)
    assert smearing_in_time(read_measurements(tmp_path)) == "flow 1"
    out = tmp_path / "analysis"
    results = analyze(tmp_path, output=out, options={"parity_partner": False})
    assert results.nucleon_charges is not None
    sinks = results.nucleon_charges.fixed_sink
    assert sinks is not None
    assert min(window.t_min for window in sinks.windows) == sinks.t_min_first == 2
    assert min(window.t_min for window in results.nucleon_charges.windows) == 1
    assert sinks.smeared_links == "flow 1"
    assert abs(sinks.charges["V"].value - G_V) < 4 * sinks.charges["V"].error
    words = (
        "windows begin 2 slices from source and sink, for the links under the operator are smeared in time"
    )
    assert any(words in note for note in results.notes)
    assert words in (out / "report.html").read_text()
    assert Results.from_json(out / "results.json") == results

    asked = analyze(
        tmp_path, options={"parity_partner": False, "charges": {"t_min_first": 1, "t_min_last": 1}}
    )
    assert asked.nucleon_charges is not None
    sinks = asked.nucleon_charges.fixed_sink
    assert sinks is not None
    assert min(window.t_min for window in sinks.windows) == sinks.t_min_first == 1
    assert sinks.p_value is not None
    assert sinks.p_value < 0.01
    assert not any(words in note for note in asked.notes)
    assert any("windows begin at t = 1, as asked for, on links" in warning for warning in asked.warnings)


def test_thin_links_are_as_before_and_short_sinks_have_a_reason(tmp_path: Path) -> None:
    write(tmp_path, {"smearing": {"flow_time": 0.0}}, blur=0.0)
    options = {"parity_partner": False, "charges": {"t_max": 5}}
    thin = analyze(tmp_path, options=options)
    assert thin.nucleon_charges is not None
    assert thin.nucleon_charges.fixed_sink is not None
    assert thin.nucleon_charges.fixed_sink.t_min_first == 1
    assert thin.nucleon_charges.fixed_sink.smeared_links is None
    write(tmp_path, FLOW, blur=0.0)
    flowed = analyze(tmp_path, options=options)
    assert flowed.nucleon_charges is not None
    assert flowed.nucleon_charges.fixed_sink is None
    reason = flowed.not_fitted["nucleon charges by fixed sinks"]
    assert "expected more points than the parameters of 2 states" in reason
    assert "smeared in time (flow 1); charges.t_min_first sets another number" in reason
