"""This program is for `mypy --strict`: it shows what the public interface promises to a type checker. It is
not run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import trellis as tr
from trellis.analysis import analyze

Complex = NDArray[np.complex128]


def everything(path: str) -> tuple[Complex, Complex]:
    U = tr.read_gauge_field(path)
    V: tr.GaugeField = tr.quenched(lattice=(8, 8, 8, 16), beta=6.0, seed=1)
    links: Complex = V.to_numpy()
    W = tr.GaugeField.from_numpy(links)
    plaquette: float = W.plaquette
    charge: float = W.topological_charge
    loop: complex = W.polyakov_loop
    print(plaquette, charge, loop, U.geometry.extents[0] + 1)
    M = tr.WilsonClover(U, kappa=0.13, csw=1.0, boundary=(1, 1, 1, -1))
    solve = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-10), inner="half"))
    bound = solve(M)
    S: tr.Propagator = bound.propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))
    pion: Complex = tr.meson(S, S, "gamma5", "gamma5")
    many: Complex = tr.mesons(S, S, [("gamma5", "gamma5")], momenta=tr.momenta_up_to(2))
    table: Complex = tr.all_mesons(S, S)
    proton: Complex = tr.nucleon(S)
    lam: Complex = tr.baryon("lambda", up=S, down=S, strange=S, form="full", parity=-1)
    array: Complex = S.to_numpy()
    back = tr.Propagator.from_numpy(array, U.geometry, source_at=(0, 0, 0, 0), boundary=(1, 1, 1, -1))
    report = back.report
    if report is not None:
        n: int = report.iterations
        print(n, report.seconds, report.gflops, report.largest_residual)
    print(S.report)
    psi: Complex = M(np.zeros((16, 8, 8, 8, 4, 3), dtype=np.complex128))
    eta = M.apply(psi, dagger=True)
    x, info = bound.solve(eta)
    print(x.shape, info.converged, many.shape, table.shape, lam.shape)
    smeared: tr.GaugeField = U.stout(rho=0.1, steps=3).ape(alpha=0.5, steps=2)
    smeared.write("out", "nersc", precision=32)
    g = tr.gaussian_source(smeared, (0, 0, 0, 0), width=2.0, steps=20)
    w = tr.wall_source(U.geometry, 3, momentum=(1, 0, 0)).with_momentum((0, 0, 1))
    z = tr.noise_source(U.geometry, kind="z2", seed=1, configuration=3)
    print(g.at, w.description, z)
    S.write("S.h5")
    T = tr.read_propagator("S.h5")
    T2 = tr.read_scidac_propagator("S.lime", U.geometry, source_at=(0, 0, 0, 0), boundary=(1, 1, 1, -1))
    D = tr.MoebiusDomainWall(U, mass=0.1, Ls=8)
    mres = tr.residual_mass(tr.even_odd(tr.cg())(D).propagator(tr.point_source(U.geometry, (0, 0, 0, 0))))
    H = tr.HISQ(U, mass=0.02)
    light, strange = H.propagators(
        tr.point_source(U.geometry, (0, 0, 0, 0), has_spin=False), masses=[0.02, 0.1]
    )
    rho: Complex = tr.staggered_mesons(light, strange)["rho_x"]
    light.write("light.lime")
    read: tr.StaggeredPropagator = tr.read_scidac_staggered_propagator("light.lime", U.geometry)
    sigma: NDArray[np.float64] = H.condensates(masses=[0.02], vectors=4, seed=1).condensate
    print(rho.shape, read.source_at, sigma)
    phi = H(np.zeros((16, 8, 8, 8, 3), dtype=np.complex128))
    f = tr.flow_history(U, time=1.0)
    print(T, T2, mres, phi.shape, f.t0)
    matrix: Complex = tr.dense(M).matrix
    spectrum: NDArray[np.float64] = tr.dense(M).eigenvalues("gamma5 M")
    det: complex = tr.log_det(D)
    print(matrix, spectrum, det)
    modes = tr.lanczos(M, count=4)
    tr.deflated(tr.even_odd(tr.cg()), modes)
    try:
        solve(M)
    except tr.NotConverged as error:
        if error.report is not None:
            print(error.report.iterations)
    except (tr.FileError, tr.BadArgument):
        raise
    made = tr.generate.run(
        "generate.toml", resume=True, on_progress=lambda step: print(step.what, step.number)
    )
    measured = tr.measure.run(
        "measure.toml", on_progress=lambda step: print(step.text, step.numbers["seconds"])
    )
    files: tuple[str, ...] = made.configurations + measured.files
    print(files, tr.generate.propose_steps("hmc.toml").levels[0].proposed)
    results = analyze(["m"], output="analysis")
    mass: float = results.particles["pion"].mass
    print(results.particles["pion"].formatted, mass, tr.rank(), tr.ranks())
    return pion, proton
