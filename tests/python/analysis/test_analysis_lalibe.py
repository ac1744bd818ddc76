"""These tests cover files of lalibe's layout: which configuration they are of, folders, and all currents."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
from test_analysis_charges import write_lalibe

from trellis.analysis import AnalysisError, MeasurementFileError, read_measurements
from trellis.analysis.charges.nucleon import isovector_numerators
from trellis.analysis.readers.lalibe_names import configuration_numbers

LONG = "l1648_a_{}_gf1.0_w3.5_n45_M51.2_L58_a1.5_mq0.0102.h5"


@pytest.mark.parametrize(
    "names",
    [
        ["spectrum_{}.h5", "fh.cfg{}.h5"],
        ["spec_" + LONG, "fh_" + LONG],
        ["s_{}_x0y0z0t0.h5", "s_{}_x8_y0_z4_t12.h5", "f{}.h5"],
        ["{}/spectrum_w3.5.h5", "{}/fh_w3.5.h5"],
        ["spec_{}_{}.h5"],
    ],
)
def test_the_number_that_differs_is_the_configuration(names: list[str]) -> None:
    paths = {Path("data") / name.format(n, n): n for n in (100, 105, 1110) for name in names}
    assert configuration_numbers(list(paths), None) == paths


def test_single_files_and_files_without_numbers() -> None:
    several = {Path(f"spec_{n}.h5"): n for n in (2, 4)} | {Path("fh_V4.4.h5"): 4}
    assert configuration_numbers(list(several), None) == several
    alone = [Path("lalibe_2pt_spectrum.h5"), Path("lalibe_fh_proton_V4.h5")]
    assert configuration_numbers(alone, None) == dict.fromkeys(alone, 0)
    with pytest.raises(AnalysisError, match=r"configuration's number.*found fh_V4\.h5"):
        configuration_numbers([*several, Path("fh_V4.h5")], None)


def test_where_several_numbers_differ_the_option_says_which() -> None:
    paths = [Path(f"spec_{n}_seed{7 * n + n % 3}.h5") for n in (100, 105, 110)]
    with pytest.raises(AnalysisError, match=r"one number that differs .* lalibe_configuration"):
        configuration_numbers(paths, None)
    found = configuration_numbers(paths, "spec_([0-9]+)_")
    assert list(found.values()) == [100, 105, 110]
    with pytest.raises(AnalysisError, match="expected one group"):
        configuration_numbers(paths, "spec_[0-9]+_")
    with pytest.raises(AnalysisError, match=r"lalibe_configuration: .*unterminated"):
        configuration_numbers(paths, "spec_([0-9]+_")
    with pytest.raises(AnalysisError, match=r"finds a number, found .*spec_100_seed"):
        configuration_numbers(paths, "cfg([0-9]+)_")


def test_a_number_that_no_result_holds_is_refused() -> None:
    found = [Path(f"a.{number}.h5") for number in (1, 10**20)]
    with pytest.raises(MeasurementFileError, match=f"at most {2**63 - 1}.*{10**20}"):
        configuration_numbers(found, None)


def test_long_names_and_a_folder_for_each_configuration(tmp_path: Path) -> None:
    """The numbers are the same as from files that are called spec_K.h5 and fh_K.h5."""
    plain, long, folders = (tmp_path / name for name in ("plain", "long", "folders"))
    plain.mkdir()
    long.mkdir()
    write_lalibe(plain, 6)
    for path in plain.iterdir():
        kind, number = path.stem.split("_")
        (long / f"{kind}_{LONG.format(100 + int(number))}").symlink_to(path)
        (folders / f"cfg_{number}").mkdir(parents=True, exist_ok=True)
        (folders / f"cfg_{number}" / f"{kind}.h5").symlink_to(path)
    expected = read_measurements(plain)
    for folder, first in ((long, 100), (folders, 0)):
        found = read_measurements(folder)
        assert found.configurations.tolist() == list(range(first, first + 6))
        for name, data in expected.correlators.items():
            np.testing.assert_array_equal(found.correlators[name].values, data.values)
    given = read_measurements([folders / f"cfg_{k}" for k in range(6)])
    assert given.configurations.tolist() == list(range(6))
    with pytest.raises(AnalysisError, match="each source once for configuration 5"):
        read_measurements(long, lalibe_configuration="_n4([0-9]+)_")


def test_sources_may_lie_in_a_file_each(tmp_path: Path) -> None:
    """The result is the mean over sources, whichever files they lie in; a source that comes twice is
    refused."""
    rng = np.random.default_rng(3)
    together, apart = tmp_path / "together", tmp_path / "apart"
    places = ["x0_y0_z0_t0", "x4_y4_z0_t8", "x2_y0_z6_t3"]
    for folder in (together, apart):
        folder.mkdir()
    for k in (100, 110):
        values = {
            name: rng.normal(size=(3, 8)) + 0j for name in ("proton/spin_up", "proton/spin_dn", "piplus")
        }
        for folder, files in ((together, [places]), (apart, [places[:2], places[2:]])):
            for i, there in enumerate(files):
                name = f"spec_{k}_{there[0].replace('_', '')}.h5"
                with h5py.File(folder / name, "w") as file:
                    for hadron, numbers in values.items():
                        for j, place in enumerate(there):
                            file[f"PS/{hadron}/{place}/px0_py0_pz0"] = numbers[2 * i + j]
    expected, found = read_measurements(together), read_measurements(apart)
    assert found.configurations.tolist() == [100, 110]
    for name, data in expected.correlators.items():
        np.testing.assert_allclose(found.correlators[name].values, data.values, rtol=1e-14)
        assert found.correlators[name].source_counts.tolist() == [3, 3]
    (apart / "spec_110_x1y1z1t1.h5").write_bytes((apart / "spec_110_x0y0z0t0.h5").read_bytes())
    with pytest.raises(AnalysisError, match=r"each source once for configuration 110 .*x0_y0_z0_t0 again"):
        read_measurements(apart)


def test_all_currents_of_lalibe(tmp_path: Path) -> None:
    """Up minus down is taken for P, A and T, and a factor -i for A and T, whose gamma matrices give imaginary
    correlators."""
    names = ["S", "P", *(f"{c}{n}" for c in "AV" for n in (1, 2, 3, 4))]
    names += ["T12", "T13", "T14", "T23", "T24", "T34"]
    t = np.arange(1.0, 9.0)
    for k in range(2):
        with h5py.File(tmp_path / f"spec_{k}.h5", "w") as file:
            for i, name in enumerate(names, start=1):
                factor = 1j if name[0] in "AT" else 1
                sign = -1 if name[0] in "ATP" else 1
                for flavour, of in (("UU", 3), ("DD", 1)):
                    for spin, s in (("spin_up", 1), ("spin_dn", sign)):
                        where = f"PS/fh_proton_{name}_{flavour}/{spin}/x0_y0_z0_t0/px0_py0_pz0"
                        file[where] = factor * s * of * i * t + 0j
    numerators, reasons = isovector_numerators(read_measurements(tmp_path))
    assert reasons == {}
    assert list(numerators)[:4] == ["A", "V", "S", "T"]
    of = {"A": "A3", "V": "V4", "T": "T12"}
    assert {of.get(name, name) for name in numerators} == set(names)
    for name, values in numerators.items():
        i = names.index(of.get(name, name)) + 1
        np.testing.assert_allclose(values, np.tile(4 * i * t, (2, 1)))


DATA = Path(os.environ.get("TRELLIS_TEST_DATA", "")) / "lalibe"


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the external data (TRELLIS_TEST_DATA)")
def test_lalibe_s_own_files_are_one_configuration() -> None:
    read = read_measurements(DATA, lalibe_smearing="PS")
    assert read.configurations.tolist() == [0]
    assert {"nucleon", "pion", "fh_V4_UU", "fh_V4_DD"} <= set(read.correlators)
