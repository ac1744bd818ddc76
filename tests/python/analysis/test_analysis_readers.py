"""These tests cover readers: what is collected, and what every refusal says."""

import hashlib
import re
import shutil

import h5py
import numpy as np
import pytest
from command_line import flip_a_bit
from rich.console import Console

from trellis.analysis import AnalysisError, AnalysisOptions, MeasurementFileError, analyze, read_measurements
from trellis.analysis.masses.correlators import particle_correlators
from trellis.analysis.readers import measurement_files
from trellis.analysis.synthetic import write_synthetic_measurements
from trellis.commands.analysis_summary import print_summary
from trellis.ground.dataset_checksums import crc32

NUMBERS = (300, 310, 320, 330, 340, 350)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("measurements")
    write_synthetic_measurements(path, configurations=NUMBERS, one_file_each=True, seed=4)
    return path


@pytest.fixture
def copy(folder, tmp_path):
    target = tmp_path / "run"
    shutil.copytree(folder, target)
    return target


def second(folder):
    return folder / "correlators.000310.h5"


def edit(path, change):
    with h5py.File(path, "r+") as file:
        change(file)


def replace(file, name, value):
    if name in file:
        del file[name]
    if value is None:
        file.create_group(name)
    else:
        file[name] = value


def test_one_file_and_a_folder_of_files_hold_the_same_numbers(folder, tmp_path):
    whole = tmp_path / "all.h5"
    write_synthetic_measurements(whole, configurations=NUMBERS, seed=4)
    a, b = read_measurements(whole), read_measurements(folder)
    assert a.configurations.tolist() == b.configurations.tolist() == list(NUMBERS)
    assert list(a.correlators) == list(b.correlators)
    for name in a.correlators:
        np.testing.assert_array_equal(a.correlators[name].values, b.correlators[name].values)
    assert len(b.files) == len(NUMBERS)
    assert all(len(f.sha256) == 64 for f in b.files)


def test_the_order_of_the_list_does_not_matter(folder):
    files = sorted(folder.iterdir())
    a, b = read_measurements(files), read_measurements(files[::-1])
    np.testing.assert_array_equal(a.correlators["pion"].values, b.correlators["pion"].values)


def test_sources_are_averaged_per_configuration(folder):
    with h5py.File(second(folder)) as file:
        raw = file["correlators/nucleon"][0]
    read = read_measurements(folder).correlators["nucleon"]
    np.testing.assert_allclose(read.values[1], raw.mean(axis=0), rtol=1e-15)
    assert read.source_counts.tolist() == [2] * len(NUMBERS)


def test_polarisations_are_averaged(folder):
    measurements = read_measurements(folder)
    by_name = {c.name: c for c in particle_correlators(measurements, AnalysisOptions())}
    assert set(by_name) == {"pion", "rho", "nucleon"}
    expected = np.mean([measurements.correlators[f"rho_{d}"].values[:, 0].real for d in "xyz"], axis=0)
    np.testing.assert_allclose(by_name["rho"].samples, expected, rtol=1e-15)
    assert by_name["rho"].members == ["rho_x", "rho_y", "rho_z"]


def test_momenta_of_equal_square_are_averaged(tmp_path):
    path = tmp_path / "p.h5"
    write_synthetic_measurements(path, configurations=NUMBERS)

    def add(file):
        old = file["correlators/pion"]
        zero, attributes = old[()], dict(old.attrs)
        del file["correlators/pion"]
        new = file.create_dataset(
            "correlators/pion", data=np.concatenate([zero, 0.5 * zero, 0.3 * zero], axis=2)
        )
        new.attrs.update(attributes)
        new.attrs["momenta"] = np.array([[0, 0, 0], [1, 0, 0], [0, 0, -1]])

    edit(path, add)
    found = {c.name: c for c in particle_correlators(read_measurements(path), AnalysisOptions(moving=True))}
    np.testing.assert_allclose(found["pion_p1"].samples, 0.4 * found["pion"].samples, rtol=1e-14)


def test_nan_is_refused_with_the_configuration(copy):
    edit(second(copy), lambda f: f["correlators/pion"].__setitem__((0, 1, 0, 3), np.nan))
    with pytest.raises(MeasurementFileError, match=r"000310\.h5.*pion.*finite.*configuration 310"):
        read_measurements(copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.attrs.__setitem__("lattice", [8, 8, 8, 32]), r"lattice: expected \(8, 8, 8, 16\)"),
        (lambda f: f.attrs.__setitem__("beta", 5.9), r"beta: expected 6\.0 .*found 5\.9"),
        (lambda f: f.attrs.__setitem__("conventions_version", "2"), "conventions_version: expected 1"),
        (lambda f: f["correlators/pion"].attrs.__setitem__("kappa", 0.14), r"kappa of pion: expected 0\.13 "),
        (lambda f: f["correlators/pion"].attrs.__delitem__("boundary_t"), "boundary_t.*found nothing"),
        (lambda f: f["correlators"].__delitem__("rho_y"), r"/correlators: expected \['nucleon', 'pion'"),
        (lambda f: f.__delitem__("configurations"), r"/configurations: expected int64\[n\]"),
        (lambda f: f.__delitem__("correlators"), "/correlators: expected a group"),
        (lambda f: f["configurations"].__setitem__(0, 300), "number once, found configuration 300 again"),
        (lambda f: f["correlators/pion"].attrs.__setitem__("momenta", np.zeros((2, 3))), "momenta.*found 2"),
        (lambda f: f.attrs.__delitem__("lattice"), r"lattice: expected \[Lx, Ly, Lz, Lt\], found \[\]"),
        (lambda f: f.attrs.__setitem__("lattice", "8 8 8 16"), "lattice: .* whole numbers, found 8 8 8 16"),
        (lambda f: f.attrs.__setitem__("lattice", [8.5, 8, 8, 16]), r"lattice: expected .* found \[8\.5"),
        (lambda f: f.attrs.__setitem__("beta", "six"), "beta: expected a finite number, found six"),
        (lambda f: replace(f, "configurations", [310.5]), r"/configurations: expected .* found \[310\.5\]"),
        (lambda f: replace(f, "configurations", [np.nan]), r"/configurations: expected .* found \[nan\]"),
        (lambda f: replace(f, "configurations", [b"one"]), r"/configurations: expected .* found \['one'\]"),
        (lambda f: replace(f, "configurations", [[310]]), r"/configurations: expected .* found \[1, 1\]"),
        (lambda f: replace(f, "configurations", None), "/configurations: expected .* found a group"),
        (lambda f: replace(f, "correlators/pion", None), "pion: expected a dataset .*found a group"),
        (lambda f: replace(f, "correlators/pion", h5py.Empty("f")), "pion: expected .*nothing in it"),
        (lambda f: f["correlators/pion"].attrs.__setitem__("momenta", "zero"), "momenta of .*found zero"),
        (lambda f: f["correlators/pion"].attrs.__setitem__("momenta", np.zeros(7)), "integers for each"),
        (lambda f: replace(f, "solves/iterations", [b"x"]), "/solves/iterations: expected real numbers"),
        (
            lambda f: f["solves"].attrs.__setitem__("seconds", "long"),
            "/solves: attribute seconds: expected real numbers, as many of each of 1 configurations",
        ),
        (lambda f: replace(f, "observables/plaquette", [b"x"]), "/observables/plaquette: expected numbers"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_refused(copy, change, message):
    edit(second(copy), change)
    with pytest.raises(MeasurementFileError, match=message) as caught:
        read_measurements(copy)
    assert caught.value.path.name == "correlators.000310.h5" or "again" in message


def test_a_dataset_of_wrong_shape_is_refused(copy):
    def shorten(file):
        values, attributes = file["correlators/pion"][..., :15], dict(file["correlators/pion"].attrs)
        del file["correlators/pion"]
        file.create_dataset("correlators/pion", data=values).attrs.update(attributes)

    edit(second(copy), shorten)
    with pytest.raises(
        MeasurementFileError, match=r"expected \[1 configurations.*16 times\], found \[1, 2, 1, 15\]"
    ):
        read_measurements(copy)


def test_damaged_files_are_refused(copy):
    path = second(copy)
    content = path.read_bytes()
    for broken in (b"", b"not HDF5 at all", content[: len(content) // 2]):
        path.write_bytes(broken)
        with pytest.raises(MeasurementFileError, match=r"000310\.h5"):
            read_measurements(copy)


def test_files_of_other_kinds_are_skipped_in_folders_and_refused_by_name(copy):
    other = copy / "propagator.h5"
    with h5py.File(other, "w") as file:
        file.attrs["kind"] = "propagator"
    measurements = read_measurements(copy)
    assert any("propagator.h5 skipped: its kind is 'propagator'" in note for note in measurements.notes)
    for number in range(3):
        (copy / f"propagator.{number}.h5").write_bytes(other.read_bytes())
    (note,) = [note for note in read_measurements(copy).notes if "skipped" in note]
    assert note == "4 files, the first propagator.0.h5, skipped: their kind is 'propagator'"
    with pytest.raises(MeasurementFileError, match=r"kind.*found 'propagator'"):
        read_measurements([copy, other])


def test_nothing_to_read(tmp_path):
    with pytest.raises(AnalysisError, match="found nothing there"):
        read_measurements(tmp_path / "absent.h5")
    with pytest.raises(AnalysisError, match="at least one"):
        read_measurements(tmp_path)
    with pytest.raises(AnalysisError, match="empty list"):
        read_measurements([])


def test_too_few_configurations_are_named_with_their_files(folder):
    few = sorted(folder.glob("*.h5"))[:4]
    with pytest.raises(
        AnalysisError, match=r"\.h5, \.\.\. \(4 files\): .*: the analysis needs at least 5"
    ) as caught:
        analyze(few)
    assert str(few[0]) in str(caught.value)


def test_gauge_stream_is_read_and_complex_loops_are_split(tmp_path):
    rng = np.random.default_rng(2)
    path = tmp_path / "stream.h5"
    loop = rng.standard_normal(200) + 1j * rng.standard_normal(200)
    with h5py.File(path, "w") as file:
        file.attrs.update(kind="gauge_stream", lattice=[4, 4, 4, 8], beta=6.0)
        file["trajectory"] = np.arange(10, 210)
        file["observables/plaquette"] = 0.6 + 0.001 * rng.standard_normal(200)
        file["observables/polyakov_loop"] = loop
    results = analyze(path)
    assert set(results.observables) == {
        "plaquette",
        "polyakov_loop_real",
        "polyakov_loop_imag",
        "polyakov_loop_abs",
    }
    assert results.observables["polyakov_loop_abs"].mean == pytest.approx(np.abs(loop).mean(), rel=1e-12)
    assert results.particles == {}
    late = analyze(path, options={"first_trajectory": 110})
    assert late.observables["plaquette"].count == 100


def test_run_files_of_measurements_are_counted_and_that_of_a_stream_is_not(copy, tmp_path):
    stream = write_stream(tmp_path / "stream.h5", 60)
    for path, text in [(stream, "[action]"), *((p, "[fermion]") for p in copy.glob("*.h5"))]:
        with h5py.File(path, "r+") as file:
            file.attrs.update(run_file=text, lattice=(8, 8, 8, 16))
    assert not [n for n in read_measurements([copy, stream]).notes if "run files" in n]
    with h5py.File(path, "r+") as file:
        file.attrs["run_file"] = "[fermion]  # another"
    assert "measurements of 2 different run files" in read_measurements([copy, stream]).notes


def write_stream(path, count, thermalisation=0, **changed):
    """Write a stream of so many trajectories; `changed` gives other values of a series."""
    rng = np.random.default_rng(2)
    series = {"plaquette": 0.6 + 0.001 * rng.standard_normal(count), "dH": rng.standard_normal(count)}
    with h5py.File(path, "w") as file:
        file.attrs.update(kind="gauge_stream", lattice=[4, 4, 4, 8], thermalisation=thermalisation)
        file["trajectory"] = np.arange(1, count + 1)
        for name, values in (series | changed).items():
            file[f"observables/{name}"] = values
        file["occasional/flow_energy_clover/trajectory"] = np.arange(1, count + 1)
        file["occasional/flow_energy_clover/value"] = 0.1 + 0.01 * rng.random((count, 6))
        file["occasional/flow_energy_clover/axis"] = np.arange(6) * 0.1
    return path


def test_the_page_of_a_stream(tmp_path):
    """A drift of physics is a warning, one of the machine's speed is not; correlators are not mentioned."""
    rng = np.random.default_rng(4)
    drift = np.linspace(1, 2, 200) + 0.01 * rng.random(200)
    density = np.round(rng.standard_normal(200), 6) + 1j
    series = {
        "seconds": 2 * drift,
        "seconds.solver": drift,
        "force.gauge": drift,
        "number_density.up": density,
    }
    # The weight is nearly 1, with more of its few large values late: this is no drift.
    series["exp_minus_dH"] = np.where(np.arange(200) < 100, 1.0, 1.1) + 0.01 * rng.random(200)
    series["iterations.gauge"] = np.zeros(200)
    path = write_stream(tmp_path / "stream.h5", 200, thermalisation=20, **series)
    since = np.where(np.arange(1, 201) > 100, 1.0, np.nan)  # it is recorded from the middle on
    with h5py.File(path, "a") as file:
        for name, amount in {"flops": 3e9, "bytes": 4e9, "roof_seconds": 0.5}.items():
            file[f"work/solver.{name}"] = amount * drift * since
    results = analyze(path, output=tmp_path / "out")
    assert [w.split(":")[0] for w in results.warnings if "first fifth" in w] == ["force.gauge"]
    assert set(results.observables) >= {"number_density.up_real", "seconds.solver"}
    assert "number_density.up_abs" not in results.observables
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<b>200</b>trajectories or sweeps; the first 20, thermalisation, are left out" in page
    rows = re.findall(
        r"<tr><td>(\w+)</td><td class=\"number\">([^<]*)</td><td class=\"number\">([^<]*)</td>", page
    )
    assert [(row[0], row[2]) for row in rows] == [("solver", "50.0 %"), ("other", "50.0 %"), ("all", "100 %")]
    assert all("(" in row[1] for row in rows if row[0] != "other")
    rates = '<td class="number">3</td><td class="number">4</td><td class="number">50 %</td></tr>'
    assert page.count(rates) == 1
    assert results.parts["solver"].fraction_of_roof == pytest.approx(0.5)
    assert results.parts["other"].gflops is None
    assert "<td>Re number density, up</td>" in page
    assert "<td>seconds" not in page
    assert "Correlators are averaged" not in page


def test_work_that_does_not_fit_its_stream_is_refused(tmp_path):
    path = write_stream(tmp_path / "stream.h5", 10)
    with h5py.File(path, "a") as file:
        file["work/solver.flops"] = np.ones(9)
    with pytest.raises(MeasurementFileError, match=r"/work/solver.flops: expected 10 numbers, found \[9\]"):
        analyze(path)


def test_streams_of_independent_chains_are_not_mixed(tmp_path):
    """The second one had been left out without a word; a copy, and one that went on, are the same chain."""
    first, longer = write_stream(tmp_path / "1.h5", 20), tmp_path / "longer.h5"
    with h5py.File(first) as file:
        series = {name: file[f"observables/{name}"][()] for name in ("plaquette", "dH")}
    write_stream(longer, 30, **{n: np.concatenate([v, v[:10]]) for n, v in series.items()})
    assert analyze([first, longer]).observables["plaquette"].count == 30
    other = write_stream(tmp_path / "2.h5", 20, dH=series["dH"], plaquette=series["plaquette"][::-1])
    with pytest.raises(
        AnalysisError, match=r"2\.h5: /observables/plaquette: expected the values of .*1\.h5 at "
    ):
        analyze([first, other])


@pytest.mark.parametrize(("R", "T", "text"), [(2, 4, None), (3, 4, "R > 2"), (4, 5, "R > 2 or T > 4")])
def test_loops_beyond_half_the_lattice_are_warned_about(tmp_path, R, T, text):
    path = write_stream(tmp_path / "stream.h5", 20)
    rng = np.random.default_rng(3)
    area = np.outer(np.arange(1, R + 1), np.arange(1, T + 1))
    with h5py.File(path, "a") as file:
        file["occasional/wilson_loops/trajectory"] = np.arange(1, 21)
        file["occasional/wilson_loops/value"] = np.exp(-0.3 * area) * (1 + 0.01 * rng.random((20, R, T)))
    results = analyze(path)
    assert results.stream.loops.creutz["2x2"].value == pytest.approx(0.3, abs=0.01)
    found = [w for w in results.warnings if "reach beyond half the lattice" in w]
    assert [w.split(" reach")[0] for w in found] == ([f"Wilson loops with {text}"] if text else [])


@pytest.mark.parametrize("count", [2, 5])
def test_a_stream_of_thermalisation_alone_is_shown(tmp_path, count, capsys):
    """The report has its series and a warning; means of such trajectories say nothing."""
    seconds = {"seconds": np.full(count, 2.0), "seconds.solver": np.ones(count)}
    path = write_stream(tmp_path / "stream.h5", count, thermalisation=5, **seconds)
    results = analyze(path, output=tmp_path / "out")
    assert results.observables == {}
    assert results.stream is None
    assert results.parts["solver"].share == 0.5
    assert results.series["plaquette"].x == list(range(1, count + 1))
    with h5py.File(path) as file:
        assert results.series["plaquette"].value == file["observables/plaquette"][()].tolist()
    expected = (
        f"its {count} trajectories are all thermalisation, which ends at 5: series are shown, and no means"
    )
    assert [expected in text for text in results.warnings] == [True]
    page = (tmp_path / "out" / "report.html").read_text()
    assert expected in page
    assert f"plaquette: {count} points" in page
    print_summary(results, tmp_path / "out", Console(width=200))
    assert "series without a mean" in capsys.readouterr().out
    # Beside a stream that went on, the early copy adds nothing.
    rest = np.random.default_rng(7).standard_normal(20 - count)
    with h5py.File(path) as file:
        whole = {
            name: np.concatenate([file[f"observables/{name}"][()], rest]) for name in ("dH", "plaquette")
        }
    longer = analyze([path, write_stream(tmp_path / "longer.h5", 20, thermalisation=5, **whole)])
    assert longer.observables["dH"].count == 15
    assert longer.series == {}


def test_a_stream_of_which_nothing_is_left_is_refused(tmp_path):
    with pytest.raises(AnalysisError, match="expected trajectories after the thermalisation, found none"):
        analyze(write_stream(tmp_path / "none.h5", 0))
    path = write_stream(tmp_path / "long.h5", 20, thermalisation=5)
    with pytest.raises(AnalysisError, match="from first_trajectory = 21 on, found none"):
        analyze(path, options={"first_trajectory": 21})


@pytest.mark.parametrize("left", [1, 4])
def test_too_few_trajectories_have_no_errors(tmp_path, left):
    results = analyze(
        write_stream(tmp_path / "stream.h5", 5 + left, thermalisation=5), output=tmp_path / "out"
    )
    assert results.observables == {}
    assert results.stream is None
    assert len(results.series["dH"].value) == left
    expected = f"{left} measurements, expected at least 5 for an error: without a mean: dH, plaquette"
    assert expected in results.warnings
    assert f"flow_energy_clover: {left} measurements, expected at least 5" in " ".join(results.notes)
    assert expected in (tmp_path / "out" / "report.html").read_text()


def test_a_series_that_some_configurations_lack_has_no_mean(tmp_path):
    """For some configurations the flow ends too early for t0: the mean of the others is too small."""
    path = write_stream(tmp_path / "stream.h5", 20)
    with h5py.File(path, "a") as file:
        file["occasional/t0/trajectory"] = np.arange(1, 21)
        file["occasional/t0/value"] = np.where(np.arange(20) < 12, 0.5 + 0.01 * np.arange(20), np.nan)
    results = analyze(path)
    assert "t0" not in results.observables
    assert "t0: not reached on 8 of 20 configurations, no mean is formed" in results.notes


def test_a_file_that_is_replaced_while_it_is_read(tmp_path, monkeypatch):
    """A run replaces its file at each save; the provenance names the version that was read."""
    path, newer = write_stream(tmp_path / "stream.h5", 20), write_stream(tmp_path / "newer.h5", 30)
    digest, size = hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size
    read = measurement_files.read_stream

    def replaced_while_read(*arguments):
        newer.replace(path)
        return read(*arguments)

    monkeypatch.setattr(measurement_files, "read_stream", replaced_while_read)
    found = read_measurements(path)
    assert len(found.observables["plaquette"].values) == 20
    assert (found.files[0].sha256, found.files[0].bytes) == (digest, size)


def test_a_field_that_stands_still_has_no_errors(tmp_path):
    """Sums in another order differ by rounding, of which Creutz ratios, flow and means had errors."""
    rng = np.random.default_rng(9)

    def rounded(values, count=20):
        return values * (1 + 1e-15 * rng.standard_normal((count, *np.shape(values))))

    path = write_stream(tmp_path / "stream.h5", 20, plaquette=rounded(0.6))
    area = np.outer(np.arange(1, 3), np.arange(1, 4))
    with h5py.File(path, "a") as file:
        file["occasional/wilson_loops/trajectory"] = np.arange(1, 21)
        file["occasional/wilson_loops/value"] = rounded(np.exp(-0.3 * area))
        file["occasional/flow_energy_clover/value"][:] = rounded(np.linspace(0.1, 0.2, 6))
    results = analyze(path, output=tmp_path / "out")
    assert set(results.observables) == {"dH"}
    assert results.stream is None
    assert "the same in all measurements, left out: plaquette = 0.6" in results.notes
    expected = "left out with what follows from it: flow_energy_clover, wilson_loops"
    assert f"the same in all measurements, {expected}" in results.notes
    with h5py.File(path, "a") as file:  # one of them moves
        file["occasional/wilson_loops/value"][7] *= 1.001
    assert analyze(path).stream.loops.creutz["2x2"].error > 0


def test_constant_series_are_named(tmp_path):
    path = write_stream(tmp_path / "stream.h5", 20, plaquette=np.full(20, 0.6))
    results = analyze(path)
    assert set(results.observables) == {"dH"}
    assert "the same in all measurements, left out: plaquette = 0.6" in results.notes


def test_streams_that_are_damaged_or_hold_nan(tmp_path):
    values = np.full(20, 0.6)
    values[7] = np.nan
    path = write_stream(tmp_path / "stream.h5", 20, plaquette=values)
    with pytest.raises(MeasurementFileError, match=r"finite numbers.*first nan in configuration 8"):
        analyze(path)
    path = write_stream(tmp_path / "whole.h5", 20)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(MeasurementFileError, match="an HDF5 file"):
        analyze(path)
    path.write_bytes(b"")
    with pytest.raises(MeasurementFileError, match="0 bytes that h5py cannot open"):
        analyze(path)


def test_thermalisation_left_in_is_noticed(tmp_path):
    rng = np.random.default_rng(2)
    n = np.arange(500)
    path = tmp_path / "stream.h5"
    with h5py.File(path, "w") as file:
        file.attrs.update(kind="gauge_stream", lattice=[4, 4, 4, 8])
        file["trajectory"] = n
        file["observables/plaquette"] = 0.59 + 0.2 * np.exp(-n / 20) + 0.001 * rng.standard_normal(500)
    assert any(
        "first_trajectory = N in the TOML file given to --options" in w for w in analyze(path).warnings
    )
    assert not analyze(path, options={"first_trajectory": 200}).warnings


def test_files_written_by_other_programs(folder, tmp_path):
    """The files have complex numbers as a compound {r, i}, texts of fixed length, and a correlator of real
    numbers."""
    path = tmp_path / "c.h5"
    shutil.copy(second(folder), path)

    def rewrite(file):
        file.attrs["kind"] = np.bytes_("measurement")
        for name, convert in (("pion", _compound), ("nucleon", np.real)):
            old = file[f"correlators/{name}"]
            values, attributes = old[()], dict(old.attrs)
            del file[f"correlators/{name}"]
            new = file.create_dataset(f"correlators/{name}", data=convert(values))
            for key, value in attributes.items():
                new.attrs[key] = np.bytes_(value) if isinstance(value, str) else value

    edit(path, rewrite)
    original, changed = read_measurements(second(folder)), read_measurements(path)
    for name, correlator in original.correlators.items():
        np.testing.assert_array_equal(changed.correlators[name].values, correlator.values)
        assert changed.correlators[name].attributes == correlator.attributes


def _compound(values):
    return values.view([("r", "f8"), ("i", "f8")])


def test_a_message_is_not_wrapped_in_another(copy):
    edit(second(copy), lambda f: f["correlators/pion"].__setitem__((0, 1, 0, 3), np.nan))
    with pytest.raises(MeasurementFileError) as caught:
        read_measurements(copy)
    assert "readable datasets" not in str(caught.value)


def test_times_of_solves_in_files_of_older_versions(copy):
    """Older versions write the times of solves as datasets, and present ones write attributes."""
    plain = read_measurements(copy).solves

    def to_dataset(file):
        for name in ("seconds", "gflops"):
            file[f"solves/{name}"] = np.reshape(file["solves"].attrs.pop(name), (1, -1))

    edit(second(copy), to_dataset)
    mixed = read_measurements(copy).solves
    for name in ("seconds", "gflops"):
        assert np.shape(plain[name]) == np.shape(plain["iterations"])
        assert np.array_equal(mixed[name], plain[name])


def test_checksums_of_numbers(copy):
    """Checksums are compared where they are there, and correlators need not share them."""
    everything = ("configurations", "correlators/pion", "solves/iterations", "observables/plaquette")
    plain = read_measurements(copy).correlators["pion"].attributes

    def put(file):
        for name in everything:
            file[name].attrs["crc32"] = crc32(file[name][()])

    for path in copy.glob("*.h5"):
        edit(path, put)
    assert read_measurements(copy).correlators["pion"].attributes == plain
    for name in everything:
        original = second(copy).read_bytes()
        flip_a_bit(second(copy), name)
        with pytest.raises(MeasurementFileError, match=f"000310.h5: /{name}: expected crc32 = .* is damaged"):
            read_measurements(copy)
        second(copy).write_bytes(original)
