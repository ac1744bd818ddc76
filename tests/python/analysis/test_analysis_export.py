"""These tests write results in the formats of other programs: each is read back by the program itself."""

import csv

import gvar as gv
import numpy as np
import pyerrors
import pytest

from trellis.analysis import (
    AnalysisError,
    Correlator,
    Results,
    analyze_correlators,
    to_gvar,
    to_pandas,
    to_pyerrors,
    write_csv,
    write_gvar,
    write_hdf5,
    write_pyerrors,
)
from trellis.analysis.export import covariance, export_all
from trellis.analysis.synthetic import PION, RHO

COUNT, EXTENT = 60, 16


@pytest.fixture(scope="module")
def results():
    """Return a pion and a rho that share half of their noise, in two streams, with a scale."""
    rng = np.random.default_rng(4)
    common = 1 + 0.05 * rng.standard_normal((COUNT, 1)) * np.arange(EXTENT // 2 + 1)
    common = np.concatenate([common, common[:, -2:0:-1]], axis=1)
    numbers, streams = np.tile(np.arange(0, 300, 10), 2), np.repeat(["a", "b"], COUNT // 2)
    made = [
        Correlator(
            name,
            common * particle.samples(COUNT, EXTENT, rng),
            configurations=numbers,
            streams=streams,
            symmetry=1,
            lattice=(8, 8, 8, EXTENT),
        )
        for name, particle in (("pion", PION), ("rho", RHO))
    ]
    options = {"max_states": 1, "scale": {"quantity": "a", "fm": [0.09, 0.002]}}
    return analyze_correlators(made, options=options)


def masses(results, what="mass"):
    return np.array([getattr(p, what) for p in results.particles.values()])


def test_samples_and_covariance_survive_results_json(results, tmp_path):
    results.to_json(tmp_path / "results.json")
    again = Results.from_json(tmp_path / "results.json")
    assert again == results
    assert again.samples.streams == ["a"] * 30 + ["b"] * 30
    np.testing.assert_allclose(
        [np.mean(v) for v in again.samples.masses.values()], masses(results), rtol=1e-12
    )
    np.testing.assert_allclose(np.sqrt(np.diag(covariance(again))), masses(results, "mass_error"), rtol=1e-12)
    assert 0.2 < covariance(again)[0, 1] / np.prod(masses(results, "statistical_error")) < 1


def test_pyerrors_reads_the_masses(results, tmp_path):
    path = write_pyerrors(results, tmp_path / "out" / "masses.json.gz", ensemble="A653")
    found = pyerrors.input.json.load_json_dict(str(path), verbose=False)
    assert list(found) == list(results.particles)
    for name, observable in found.items():
        particle = results.particles[name]
        assert sorted(observable.names) == sorted(["A653|a", "A653|b", f"model error of {name}"])
        assert observable.value == pytest.approx(particle.mass, rel=1e-12)
        observable.gamma_method()
        # pyerrors takes autocorrelations of every mass into account, results only significant ones
        assert observable.dvalue == pytest.approx(particle.mass_error, rel=0.4)
        series = np.concatenate(
            [observable.deltas[f"A653|{s}"] + observable.r_values[f"A653|{s}"] for s in "ab"]
        )
        np.testing.assert_allclose(series, results.samples.masses[name], rtol=1e-9)


def test_few_configurations_have_the_same_errors_in_pyerrors():
    """Errors from 25 configurations contain what estimated weights cost; the series scatter as much."""
    values = PION.samples(25, EXTENT, np.random.default_rng(3))
    results = analyze_correlators(
        [Correlator("pion", values, symmetry=1)], options={"max_states": 1, "autocorrelation": "none"}
    )
    particle = results.particles["pion"]
    observable = to_pyerrors(results)["pion"]
    observable.gamma_method(S=0)
    assert observable.dvalue == pytest.approx(particle.mass_error, rel=0.03)  # n in place of n - 1
    naive = np.std(results.samples.masses["pion"], ddof=1) / 5
    assert naive == pytest.approx(particle.statistical_error, rel=1e-3)  # which has that of priors, too


def test_pyerrors_in_mev_has_the_scale_in_common(results):
    found = to_pyerrors(results, mev=True)
    for name, observable in found.items():
        assert observable.value == pytest.approx(results.particles[name].physical.mev, rel=1e-12)
        gradient = observable.covobs["lattice spacing in fm"]
        assert np.sqrt(gradient.errsq()) == pytest.approx(
            results.particles[name].physical.scale_error, rel=1e-6
        )


def test_gvar_reads_the_masses_with_their_correlations(results, tmp_path):
    found = gv.load(str(write_gvar(results, tmp_path / "masses.gvar")))
    assert list(found) == list(results.particles)
    values = [found[name] for name in found]
    np.testing.assert_allclose(gv.mean(values), masses(results), rtol=1e-14)
    np.testing.assert_allclose(gv.evalcov(values), covariance(results), rtol=1e-10)
    in_mev = to_gvar(results, mev=True)
    for name, value in in_mev.items():
        physical = results.particles[name].physical
        assert (value.mean, value.sdev) == pytest.approx((physical.mev, physical.error), rel=1e-10)
    ratio = in_mev["pion"] / in_mev["rho"]  # the scale cancels
    assert ratio.sdev == pytest.approx((found["pion"] / found["rho"]).sdev, rel=1e-10)


def test_csv_has_all_digits(results, tmp_path):
    with open(write_csv(results, tmp_path / "masses.csv"), newline="") as file:
        rows = {row["particle"]: row for row in csv.DictReader(file)}
    for name, particle in results.particles.items():
        assert float(rows[name]["mass"]) == particle.mass
        assert float(rows[name]["mass_mev_error"]) == particle.physical.error
        assert int(rows[name]["t_min"]) == particle.fit.t_min


def test_pandas_has_the_same_table(results, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = to_pandas(results)
    read = pandas.read_csv(write_csv(results, tmp_path / "masses.csv"), index_col="particle")
    pandas.testing.assert_frame_equal(frame.astype(float), read.astype(float))
    assert frame.loc["pion", "mass"] == results.particles["pion"].mass


def test_hdf5_has_names_and_coordinates(results, tmp_path):
    import h5py

    with h5py.File(write_hdf5(results, tmp_path / "results.h5"), "r") as file:
        np.testing.assert_array_equal(file["mass"][()], masses(results))
        assert [d[0].name for d in file["mass_on_configuration"].dims] == ["/particle", "/configuration"]
        assert file["mass_mev"].attrs["units"] == "MeV"


def test_xarray_opens_the_file(results, tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    path = write_hdf5(results, tmp_path / "results.h5")
    with xarray.open_dataset(path, engine="h5netcdf") as found:
        assert found["mass"].dims == ("particle",)
        pion = found.sel(particle="pion")
        assert float(pion["mass"]) == results.particles["pion"].mass
        assert float(pion["correlator"].sel(time=3)) == results.particles["pion"].correlator.value[3]
        effective = results.particles["pion"].effective_mass
        assert float(pion["effective_mass"].sel(half_time=2.5)) == effective.value[effective.x.index(2.5)]
        assert float(found["covariance"].sel(particle="pion", particle_2="rho")) == covariance(results)[0, 1]
        assert found["mass_on_configuration"].sizes["configuration"] == COUNT
        assert found["stream"].values.tolist() == results.samples.streams


def test_the_key_writes_all_of_them(results, tmp_path):
    options = results.options.model_copy(update={"export": ["pyerrors", "gvar", "csv", "hdf5"]})
    export_all(results, tmp_path, options)
    names = {"masses.json.gz", "masses.gvar", "masses.csv", "results.h5"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_what_is_not_there_is_said(results, tmp_path):
    without = results.model_copy(update={"scale": None, "samples": None})
    with pytest.raises(AnalysisError, match="mev: expected results with a scale"):
        to_gvar(without, mev=True)
    with pytest.raises(AnalysisError, match="pion: expected its series over configurations, found none"):
        to_pyerrors(without)
    with pytest.raises(AnalysisError, match=r"expected a name that ends in \.json\.gz, found 'x\.json'"):
        write_pyerrors(results, tmp_path / "x.json")
