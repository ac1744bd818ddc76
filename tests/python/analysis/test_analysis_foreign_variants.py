"""Files of other programs come in variants: they give the right numbers, or a refusal."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from trellis.analysis import ForeignOptions, MeasurementFileError, analyze, read_foreign
from trellis.analysis.synthetic import PION

sys.path.insert(0, str(Path(__file__).parent))
import foreign_files as made

T = 16
REST = (0, 0, 0)


@pytest.fixture
def rows():
    return PION.samples(12, T, np.random.default_rng(3))


def read(path, **options):
    return read_foreign(path, ForeignOptions(**options))


def header(*, width="2.0", boundary="1 1 1 -1", origin="0 0 0 3", tolerance="1e-10"):
    """Return the headers of both propagators of a pair, as hadspec copies them from propagators."""
    source = f"<Source><SourceType>SHELL_SOURCE</SourceType><t_srce>{origin}</t_srce>"
    source += f"<SmearingParam><wvf_param>{width}</wvf_param></SmearingParam></Source><j_decay>3</j_decay>"
    condition = f"<FermionBC><FermBC>SIMPLE_FERMBC</FermBC><boundary>{boundary}</boundary></FermionBC>"
    action = f"<FermionAction><FermAct>CLOVER</FermAct>{condition}</FermionAction>"
    action += f"<InvertParam><RsdCG>{tolerance}</RsdCG></InvertParam>"
    of_one = f"<ForwardProp>{action}</ForwardProp><PropSource>{source}</PropSource>"
    both = "".join(f"<{which}_forward_prop>{of_one}</{which}_forward_prop>" for which in ("First", "Second"))
    return f"<Forward_prop_headers>{both}</Forward_prop_headers>"


def pair(row, **said):
    return made.chroma_xml({15: {REST: row}}).replace("<t0>3</t0>", f"<t0>3</t0>{header(**said)}")


def test_chroma_tells_other_smearings_from_other_sources(rows, tmp_path):
    """Sources at another place are averaged; a quark that is smeared otherwise has its own correlator."""
    for number, row in enumerate(rows):
        pairs = [
            pair(row),
            pair(3 * row, origin="4 4 4 11", tolerance="1e-8", width="2.00"),
            pair(10 * row, width="5"),
        ]
        (tmp_path / f"h.{number}.xml").write_text(made.chroma_file(*pairs))
    found = read(tmp_path, format="chroma").correlators
    np.testing.assert_allclose(found["pion_1"].values[:, 0].real, 2 * rows, rtol=1e-14)
    np.testing.assert_allclose(found["pion_2"].values[:, 0].real, 10 * rows, rtol=1e-14)
    assert found["pion_1"].source_counts.tolist() == [2] * 12


def test_chroma_files_of_one_name_have_the_same_quarks(rows, tmp_path):
    (tmp_path / "h.1.xml").write_text(made.chroma_file(pair(rows[0])))
    (tmp_path / "h.2.xml").write_text(made.chroma_file(pair(rows[1], width="5.0")))
    with pytest.raises(
        MeasurementFileError, match=r"quarks of pion: expected wvf_param=2\.0, as in .*h\.1\.xml, "
    ):
        read(tmp_path, format="chroma")


@pytest.mark.parametrize(
    ("boundary", "found"), [("1 1 1 -1", "antiperiodic"), ("1 1 1 1", "periodic"), ("1 1 1 0", "dirichlet")]
)
def test_chroma_says_the_boundary_condition(boundary, found, rows, tmp_path):
    path = tmp_path / "h.1.xml"
    path.write_text(made.chroma_file(pair(rows[0], boundary=boundary)))
    assert read(path, format="chroma").correlators["pion"].attributes["boundary_t"] == found
    other = "antiperiodic" if found == "periodic" else "periodic"
    with pytest.raises(
        MeasurementFileError, match=f"FermionBC: expected {other} quarks in time, .*, found {found}"
    ):
        read(path, format="chroma", boundary_t=other)


def test_chroma_of_a_schroedinger_functional_is_not_folded(rows, tmp_path):
    text = made.chroma_file(pair(rows[0])).replace("SIMPLE_FERMBC", "SCHROEDINGER_NONPERT_FERMBC")
    (tmp_path / "h.1.xml").write_text(text)
    assert read(tmp_path, format="chroma").correlators["pion"].attributes["boundary_t"] == "dirichlet"


def test_a_log_of_hmc_has_spectra_of_several_configurations(rows, tmp_path):
    """They are no sources of one configuration: update_no tells them apart. latt_size says the lattice."""
    geometry = f"<ProgramInfo><Setgeom><latt_size>4 4 4 {T}</latt_size></Setgeom></ProgramInfo>"
    spectra = ""
    for number, row in enumerate(rows):
        spectrum = made.chroma_file(made.chroma_xml({15: {REST: row}})).split("\n", 1)[1]
        spectra += spectrum.replace(
            "<update_no>0</update_no>", f"<update_no>{10 * number}</update_no>{geometry}"
        )
    (tmp_path / "hmc.5.out.xml").write_text(f"<?xml version='1.0'?><hmc>{spectra}</hmc>")
    found = read(tmp_path, format="chroma")
    assert found.configurations.tolist() == list(range(0, 120, 10))
    assert found.lattice == (4, 4, 4, T)
    np.testing.assert_array_equal(found.correlators["pion"].values[:, 0].real, rows)


def milc_pair(label, taste, masses, row, *, kind="staggered", more=""):
    """Return the part of a correlator file for one pair of quarks, with the headers of MILC's ks_spectrum."""
    text = f"---\nJobID:                        7\nlattice_size:                 8,8,8,{T}\n"
    text += f'antiquark_type:               {kind}\nantiquark_mass:               "{masses[0]}"\n'
    text += f'quark_type:                   {kind}\nquark_mass:                   "{masses[1]}"\n{more}...\n'
    text += f"---\ncorrelator:                   {label}\nmomentum:                     p000\n{taste}\n"
    text += f"correlator_key:               {label}_d_d_m{masses[0]}_m{masses[1]}_p000\n...\n"
    return text + "".join(f"{t}\t{float(v)!r}\t0.0\n" for t, v in enumerate(row))


def test_milc_kaons_have_a_partner(rows, tmp_path):
    """The partner of G5-G5 is the charge of a conserved current only where both quarks are the same."""
    taste = "spin_taste_sink:              G5-G5"
    charge = 'antiquark_charge:             "-0.3"\nquark_charge:                 "0.6"\n'
    text = milc_pair("PION", taste, ("0.01", "0.01"), rows[0]) + milc_pair(
        "KAON", taste, ("0.01", "0.05"), rows[0]
    )
    text += milc_pair("CHARGED", taste, ("0.01", "0.01"), rows[0], more=charge)
    (tmp_path / "c.1.corr").write_text(text.replace("\n", "\r\n"))  # lines may end as Windows has them
    found = read(tmp_path, format="milc")
    has_partner = {name: "partner" in c.attributes for name, c in found.correlators.items()}
    assert has_partner == {
        "PION_d_d_m0.01_m0.01": False,
        "KAON_d_d_m0.01_m0.05": True,
        "CHARGED_d_d_m0.01_m0.01": True,
    }
    assert found.lattice == (8, 8, 8, T)
    (tmp_path / "c.1.corr").write_text(made.milc_output([("pion5", "p000", "0.01 0.05", rows[0])]))
    assert read(tmp_path, format="milc").correlators["pion5_m0.01_m0.05"].attributes["partner"]


def test_milc_clover_quarks_have_gamma_matrices_and_no_partner(rows, tmp_path):
    gammas = "gamma_source:                 G5\ngamma_sink:                   G5T"
    (tmp_path / "c.1.corr").write_text(milc_pair("P5A0", gammas, ("0.1", "0.1"), rows[0], kind="clover"))
    attributes = read(tmp_path, format="milc").correlators["P5A0_d_d_m0.1_m0.1"].attributes
    assert (attributes["source"], attributes["sink"]) == ("gamma5", "gamma5 gamma_t")
    assert "partner" not in attributes


def test_milc_output_tells_sources_of_other_kinds_apart(rows, tmp_path):
    """Two walls with one label are two correlators; the same wall again is a second source."""
    text = made.milc_output([("pion5", "p000", "0.05 0.05", k * rows[0]) for k in (1, 2, 3)])
    first, second, third = text.split("STARTPROP")[1:]
    second = second.replace("SOURCE: corner corner", "SOURCE: even_wall even_wall")
    (tmp_path / "out.1.txt").write_text("STARTPROP".join(["nx 8\nny 8\nnz 8\nnt 16\n", first, second, third]))
    found = read(tmp_path, format="milc")
    corner, wall = (
        found.correlators[f"pion5_m0.05_m0.05_{w}_{w}_identity_identity"] for w in ("corner", "even_wall")
    )
    np.testing.assert_allclose(corner.values[0, 0].real, 2 * rows[0], rtol=1e-6)
    np.testing.assert_allclose(wall.values[0, 0].real, 2 * rows[0], rtol=1e-6)
    assert corner.source_counts.tolist() == [2]
    assert found.lattice == (8, 8, 8, 16)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda text: "".join(
                f"Restored binary gauge configuration serially from file l{k}\n{text}" for k in (1, 2)
            ),
            "expected one gauge configuration, which the blocks do not name, found l1, l2",
        ),
        (lambda text: text.replace("MASSES: 0.05", "KAPPAS: 0.1"), "expected output of ks_spectrum"),
    ],
)
def test_milc_output_that_cannot_be_told_is_refused(change, said, rows, tmp_path):
    text = made.milc_output([("pion5", "p000", "0.05 0.05", rows[0])])
    (tmp_path / "out.1.txt").write_text(change(text))
    with pytest.raises(MeasurementFileError, match=said):
        read(tmp_path, format="milc")


def test_hadrons_in_other_orders_with_files_beside_them(rows, tmp_path):
    """Pairs go by their gamma matrices, numbers stay complex, and other files of the folder do not count."""
    for number, row in enumerate(rows, start=8):
        mesons = [("Gamma5", "Gamma5", row), ("GammaX", "SigmaXT", 1j * row), ("Identity", "Identity", -row)]
        made.write_hadrons(tmp_path / f"m.{number:04d}.h5", mesons[:: (-1) ** number])
    (tmp_path / "m.0009.h5.part").write_bytes(b"x")
    (tmp_path / "m.log").write_text("x")
    found = read(tmp_path, format="hadrons", spatial_extent=8)
    assert found.configurations.tolist() == list(range(8, 20))
    assert found.lattice == (8, 8, 8, T)
    np.testing.assert_array_equal(found.correlators["pion"].values[:, 0], rows)
    np.testing.assert_array_equal(found.correlators["gamma_x_SigmaXT"].values[:, 0], 1j * rows)
    with h5py.File(tmp_path / "m.0008.h5", "a") as file:  # as h5py itself stores complex numbers
        del file["meson/meson_0/corr"]
        file["meson/meson_0/corr"] = rows[0].astype(complex)
    again = read(tmp_path, format="hadrons").correlators["pion"].values[:, 0]
    np.testing.assert_array_equal(again, rows)


def test_hadrons_with_a_number_twice_is_refused(rows, tmp_path):
    for name in ("m.8.h5", "m.08.h5"):
        made.write_hadrons(tmp_path / name, [("Gamma5", "Gamma5", rows[0])])
    with pytest.raises(MeasurementFileError, match=r"expected each number once, m.* has it, too, found 8"):
        read(tmp_path, format="hadrons")


def test_sfcf_with_several_quarks_asks_which(rows, tmp_path):
    """The reader would take the first pair that stands in the file."""
    for number in range(1, 7):
        made.write_sfcf(tmp_path, "r0", number, {"f_A": rows[0]})
        path = tmp_path / "testr0" / f"testr0n{number}"
        block = path.read_text().partition("[correlator]")[2]
        path.write_text(f"{path.read_text()}[correlator]{block.replace('lquark lquark', 'lquark squark')}")
    said = {"prefix": "test", "names": ["f_A"], "version": "2.0c"}
    with pytest.raises(
        MeasurementFileError, match=r"foreign\.sfcf\.quarks.*found lquark lquark, lquark squark"
    ):
        read(tmp_path, format="sfcf", sfcf=said)
    one = read(tmp_path, format="sfcf", sfcf=said | {"quarks": "lquark squark"})
    np.testing.assert_allclose(one.correlators["f_A"].values[0, 0].real, rows[0], rtol=1e-14)


def test_sfcf_functions_of_two_boundaries_are_refused(rows, tmp_path):
    for number in range(1, 7):
        made.write_sfcf(tmp_path, "r0", number, {"F_V": rows[0]})
        path = tmp_path / "testr0" / f"testr0n{number}"
        path.write_text(path.read_text().replace("corr_t", "wf_2      0\ncorr_t"))
    with pytest.raises(MeasurementFileError, match="F_V: expected a function from one boundary"):
        read(tmp_path, format="sfcf", sfcf={"prefix": "test", "names": ["F_V"], "version": "2.0c"})


def test_a_table_from_a_spreadsheet(rows, tmp_path):
    """Such tables begin with a mark of their encoding, and lines end in CR and LF."""
    lines = ["time,configuration,pion", *(f"{t},7,{float(v)!r}" for t, v in enumerate(rows[0]))]
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    np.testing.assert_array_equal(
        read(tmp_path, format="table").correlators["pion"].values[0, 0].real, rows[0]
    )


@pytest.mark.parametrize("extent", [None, 8])
def test_moving_particles_of_other_programs_have_their_picture(extent, rows, tmp_path):
    """Energies stand against n^2 where no file says the extent; with it they have the curves of a boson."""
    distance = np.minimum(np.arange(T), T - np.arange(T))
    for number, row in enumerate(rows):
        moved = row * np.exp(-0.1 * distance)
        xml = made.chroma_file(made.chroma_xml({15: {REST: row, (1, 0, 0): moved}}))
        (tmp_path / f"h.{number}.xml").write_text(xml)
    options = {"foreign": {"format": "chroma"}, "moving": True, "max_states": 1}
    if extent:
        options["foreign"]["spatial_extent"] = extent
    results = analyze(tmp_path, output=tmp_path / "out", options=options)
    assert results.particles["pion_p1"].mass > results.particles["pion"].mass
    assert (tmp_path / "out" / "plots" / "dispersion.png").is_file()
    assert ("lattice boson" in (tmp_path / "out" / "report.html").read_text()) == bool(extent)


def test_text_may_be_packed(rows, tmp_path):
    """Folders have files that end in .gz, too; a damaged one is refused."""
    lines = ["configuration time pion", *(f"7 {t} {float(v)!r}" for t, v in enumerate(rows[0]))]
    contents = {
        "table": ("t.txt.gz", "\n".join(lines), "pion"),
        "chroma": ("h.7.xml.gz", made.chroma_file(pair(rows[0])), "pion"),
        "milc": ("m.7.corr.gz", made.milc_correlators([("P", "p000", "pion5", rows[0])]), "P_m0.05_m0.05"),
    }
    for format, (name, text, correlator) in contents.items():
        folder = tmp_path / format
        folder.mkdir()
        (folder / name).write_bytes(gzip.compress(text.encode()))
        values = read(folder, format=format).correlators[correlator].values[0, 0].real
        np.testing.assert_allclose(values, rows[0], rtol=1e-6)
        (folder / name).write_bytes(gzip.compress(text.encode())[:-9])
        with pytest.raises(MeasurementFileError, match="expected a whole file of gzip"):
            read(folder, format=format)
