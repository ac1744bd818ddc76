"""This module builds files of other programs to their formats: numbers go in, and the readers have to give
them back."""

import struct

import h5py
import numpy as np


def complex_xml(values):
    return "".join(f"<elem><re>{v.real!r}</re><im>{v.imag!r}</im></elem>" for v in map(complex, values))


def chroma_xml(mesons, baryons=(), masses=("-0.05", "-0.05"), is_real=False, group="Shell_Shell"):
    """Return one pair of quarks of hadspec: `mesons` is {gamma_value: {momentum: values}}, `baryons`
    alike."""

    def momenta(by_momentum, tag):
        text = ""
        for place, (momentum, values) in enumerate(by_momentum.items()):
            numbers = " ".join(map(repr, map(float, values))) if is_real else complex_xml(values)
            n = " ".join(map(str, momentum))
            text += f"<elem><sink_mom_num>{place}</sink_mom_num><sink_mom>{n}</sink_mom>"
            text += f"<{tag}>{numbers}</{tag}></elem>"
        return f"<momenta>{text}</momenta>"

    def elements(entries, number, tag):
        return "".join(
            f"<elem><{number}>{n}</{number}>{momenta(v, tag)}</elem>" for n, v in dict(entries).items()
        )

    text = f"<elem><Mass_1>{masses[0]}</Mass_1><Mass_2>{masses[1]}</Mass_2><t0>3</t0>"
    text += f"<{group}_Wilson_Mesons>{elements(mesons, 'gamma_value', 'mesprop')}</{group}_Wilson_Mesons>"
    text += f"<{group}_Wilson_Baryons>{elements(baryons, 'baryon_num', 'barprop')}</{group}_Wilson_Baryons>"
    return f"{text}</elem>"


def chroma_file(*pairs):
    """Return a file of hadspec with its pairs of quarks."""
    inside = "".join(pairs)
    return (
        '<?xml version="1.0"?>\n<hadspec><update_no>0</update_no>'
        f"<Wilson_hadron_measurements>{inside}</Wilson_hadron_measurements></hadspec>\n"
    )


def lime_file(records):
    """Return a LIME file with (type, bytes) of each record."""
    raw = b""
    for kind, data in records:
        raw += struct.pack(">IHHQ", 0x456789AB, 1, 0xC000, len(data)) + kind.encode().ljust(128, b"\0")
        raw += data + b"\0" * (-len(data) % 8)
    return raw


def milc_output(correlators):
    """Return the standard output of ks_spectrum: (name, momentum, masses, values) of each correlator."""
    text = "SU3 staggered\n"
    for name, momentum, masses, values in correlators:
        text += f"STARTPROP\nMOMENTUM: {momentum}\nMASSES: {masses} \nSOURCE: corner corner\n"
        text += f"SINKOPS: identity identity\nSINKS: {name}\n"
        text += "".join(f"{t} {v.real:e} {v.imag:e}\n" for t, v in enumerate(map(complex, values)))
        text += "ENDPROP\n"
    return text + "RUNNING COMPLETED\n"


def milc_correlators(correlators):
    """Return a correlator file of ks_spectrum: (name, momentum, spin-taste, values) of each correlator."""
    text = "---\nJobID:                        7\nlattice_size:                 8,8,8,16\n"
    text += 'quark_mass:                   "0.05"\n...\n'
    for name, momentum, taste, values in correlators:
        text += f"---\ncorrelator:                   {name}\nmomentum:                     {momentum}\n"
        text += f"spin_taste_sink:              {taste}\n"
        text += f"correlator_key:               {name}_m0.05_m0.05_{momentum}\n...\n"
        text += "".join(f"{t}\t{v.real:e}\t{v.imag:e}\n" for t, v in enumerate(map(complex, values)))
    return text


def write_hadrons(path, mesons):
    """Write mesons of one configuration; `mesons` is [(gamma_src, gamma_snk, values)]."""
    with h5py.File(path, "w") as file:
        for place, (source, sink, values) in enumerate(mesons):
            group = file.create_group(f"meson/meson_{place}")
            group.attrs["gamma_src"] = np.array([source.encode()])
            group.attrs["gamma_snk"] = np.array([sink.encode()])
            stored = np.zeros(len(values), dtype=[("re", "f8"), ("im", "f8")])
            stored["re"], stored["im"] = np.real(values), np.imag(values)
            group["corr"] = stored


def write_sfcf(folder, stream, number, correlators):
    """Write a compact file of sfcf 2.0: {name: values} of one configuration."""
    place = folder / f"test{stream}"
    place.mkdir(parents=True, exist_ok=True)
    text = "[run]\n\nversion 2.0\n\n"
    for name, values in correlators.items():
        text += f"[correlator]\nname      {name}\nquarks    lquark lquark\noffset    0\nwf        0\ncorr_t\n"
        text += "".join(f"{t + 1} {v!r} 0.0\n" for t, v in enumerate(map(float, values)))
        text += "\n\n"
    (place / f"test{stream}n{number}").write_text(text)


def openqcd_flow(dn, eps, trajectories, W, Y, Q):
    """Return NAME.ms.dat: its blocks have the shape [measurement, flow time, time slice]."""
    raw = struct.pack("<iiid", dn, Y.shape[1] - 1, Y.shape[2], eps)
    for k, trajectory in enumerate(trajectories):
        raw += struct.pack("<i", trajectory)
        raw += b"".join(np.ascontiguousarray(block[k], dtype="<f8").tobytes() for block in (W, Y, Q))
    return raw
