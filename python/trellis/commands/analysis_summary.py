"""This module does the work of `trellis analyze`, without the command line around it."""

from __future__ import annotations

import errno
import json as json_text
import sys
from collections.abc import Iterable
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from ..analysis.masses.assemble import is_timing
from ..analysis.pipeline import analyze
from ..analysis.records.errors import AnalysisError
from ..analysis.records.options import AnalysisOptions
from ..analysis.records.record import format_error
from ..analysis.records.results import ParticleResult, Results
from ..ground.errors import RunFileError

#: An operating system says one of these of full disks, quotas and limits.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: This is the exit status where none of the correlators could be fitted.
NOTHING_FITTED = 4
#: The summary shows at most this many names of correlators that were not fitted for the same reason.
_NAMES_SHOWN = 4


def run(
    paths: Iterable[Path | str] | Path | str,
    output_dir: Path | str,
    json: bool = False,
    options: AnalysisOptions | dict | None = None,
    *,
    companion: Iterable[Path | str] | None = None,
    title: str | None = None,
) -> int:
    """Analyse, write the report, and print a summary.

    Parameters
    ----------
    paths
        Measurement files, gauge streams, folders: the positional arguments of `trellis analyze`.
    output_dir
        Folder for report.html, results.json and plots/.
    json
        Print the content of results.json on standard output and nothing else there; on failure an object
        {"error": message}.
    options
        AnalysisOptions, or a dict of its fields as a command line or a TOML table gives them; unknown names
        and wrong values are refused.
    companion
        Measurements of a second part of the report: `trellis analyze --companion`.
    title
        Title of the report.

    Returns
    -------
    int
        Exit status: 0; 1 after an error whose message went to standard error (and into the JSON);
        `NOTHING_FITTED` where there are correlators, in the measurements or in the companion's, and none of
        them could be fitted: the report is there, and says why.
    """
    errors = Console(stderr=True, soft_wrap=True, emoji=False)
    try:
        results = analyze(paths, output=output_dir, companion=companion, title=title, options=options)
    except (AnalysisError, RunFileError, OSError) as error:
        text = _not_written(error, output_dir) or str(error)
        errors.print(f"error: {text}", style="bold red", highlight=False, markup=False)
        if json:
            print(json_text.dumps({"error": text}))
        return 1
    if json:
        sys.stdout.write(results.to_json())
    else:
        print_summary(results, Path(output_dir), Console(emoji=False, markup=False))
    parts = [results] if results.companion is None else [results, results.companion]
    if not any(map(_is_without_fits, parts)):
        return 0
    errors.print("error: none of the correlators could be fitted", style="bold red")
    return NOTHING_FITTED


def _not_written(error: Exception, output_dir: Path | str) -> str:
    """Return a sentence about a full disk; the system's own message is a number, and may name no file."""
    if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
        return ""
    return f"{error.filename or output_dir}: cannot be written: {error.strerror}"


def _is_without_fits(part: Results) -> bool:
    """Return True if there were correlators to fit, and no fit succeeded."""
    found = (part.particles, part.nucleon_charges, part.residual_mass)
    return bool(part.not_fitted) and not any(found)


def print_summary(results: Results, output_dir: Path, console: Console) -> None:
    """Print the table of masses, the ratios, the warnings, and the path of the report."""
    console.print(f"{results.title} (lattice units)", style="bold", highlight=False)
    units = () if results.scale is None else ("MeV",)
    table = _table("particle", "mass", *units, "stat.", "model", "states", "t", "p", "tau_int")
    for name, particle in results.particles.items():
        table.add_row(name.replace("_parity_partner", " partner").replace("_", " "), *_row(particle))
    if results.particles:
        console.print(table)
    elif results.observables:
        console.print(_observables_table(results))
    if results.scale is not None:
        console.print(f"a = {format_error(results.scale.a_fm, results.scale.a_fm_error)} fm", highlight=False)
    if results.series and not results.particles:
        console.print(_series_table(results))
    for line in _stream_lines(results):
        console.print(line, highlight=False)
    for name, ratio in results.ratios.items():
        console.print(
            f"m({name.replace('/', ') / m(')}) = {format_error(ratio.value, ratio.error)}", highlight=False
        )
    _print_charges(results, console)
    _print_not_fitted(results, console)
    for warning in results.all_warnings:
        console.print(f"warning: {warning}", style="yellow", highlight=False, markup=False)
    console.print(f"report: {output_dir / 'report.html'}", highlight=False, soft_wrap=True)


def _print_charges(results: Results, console: Console) -> None:
    """Print the nucleon charges and m_res of the results, or of their companion with its masses."""
    other = results.companion
    if other is not None:
        console.print(f"\n{other.title}", style="bold", highlight=False)
        for name, particle in other.particles.items():
            console.print(f"m({name.replace('_', ' ')}) = {particle.formatted}", highlight=False)
    part = other or results
    if part.residual_mass is not None:
        console.print(f"m_res = {part.residual_mass.formatted}", highlight=False)
    charges = part.nucleon_charges
    if charges is not None:
        for name, charge in charges.charges.items():
            said = name.replace("_", " ")
            console.print(f"g_{said} (bare) = {charge.formatted}", highlight=False)
        if charges.g_a_over_g_v is not None and charges.tau_n is not None:
            console.print(f"g_A/g_V = {charges.g_a_over_g_v.formatted}", highlight=False)
            console.print(f"tau_n = {charges.tau_n.formatted} s", highlight=False)
        if charges.p_value is not None:
            console.print(f"p-value of the fits of charges: {charges.p_value:.2f}", highlight=False)
        if charges.fixed_sink is not None:
            for name, charge in charges.fixed_sink.charges.items():
                said = name.replace("_", " ")
                console.print(f"g_{said} (bare) by fixed sinks = {charge.formatted}", highlight=False)
            if charges.fixed_sink.g_a_over_g_v is not None:
                console.print(
                    f"g_A/g_V by fixed sinks = {charges.fixed_sink.g_a_over_g_v.formatted}", highlight=False
                )
    if other is not None:
        _print_not_fitted(other, console)


def _print_not_fitted(results: Results, console: Console) -> None:
    """Print a line for each reason, with the first names that have it."""
    names: dict[str, list[str]] = {}
    for name, reason in results.not_fitted.items():
        names.setdefault(reason, []).append(name)
    for reason, listed in names.items():
        more = len(listed) - _NAMES_SHOWN
        shown = ", ".join(listed[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
        console.print(f"not fitted: {shown}: {reason}", style="yellow", highlight=False, markup=False)


def _table(first: str, *others: str) -> Table:
    """Return a table: names are folded where the terminal is narrow; numbers stay whole."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", collapse_padding=True, pad_edge=False)
    table.add_column(first, overflow="fold")
    for header in others:
        table.add_column(header, no_wrap=True, justify="left" if header == "mass" else "right")
    return table


def _observables_table(results: Results) -> Table:
    """Return the means of a stream; series that say how long something took are left out."""
    table = _table("observable", "mean", "tau_int", "count")
    for name, found in results.observables.items():
        if found.mean is None or is_timing(name):
            continue
        tau = "-" if found.tau_int is None else f"{found.tau_int:.2g}"
        table.add_row(name, format_error(found.mean, found.error), tau, str(found.count))
    return table


def _series_table(results: Results) -> Table:
    """Return the table of the series that have no mean."""
    table = _table("series without a mean", "last", "count")
    for name, found in results.series.items():
        if not is_timing(name):
            last = "-" if found.value[-1] is None else f"{found.value[-1]:.6g}"
            table.add_row(name, last, str(len(found.x)))
    return table


def _stream_lines(results: Results) -> list[str]:
    """Return lines with flow scales, charge, susceptibilities and the diagonal Creutz ratios."""
    if results.stream is None:
        return []
    lines = []
    flow, loops = results.stream.flow, results.stream.loops
    if flow is not None:
        scales = {
            "t0/a^2": flow.t0,
            "sqrt(8 t0)/a": flow.sqrt_8t0,
            "w0/a": flow.w0,
            "<Q^2>": flow.charge_squared,
        }
        lines.append(", ".join(f"{name} = {v.formatted}" for name, v in scales.items() if v is not None))
    if loops is not None:
        ratios = {n: v for n, v in loops.creutz.items() if len(set(n.split("x"))) == 1}
        lines.append(", ".join(f"chi({n.replace('x', ',')}) = {v.formatted}" for n, v in ratios.items()))
    lines += [f"{name} = {v.formatted}" for name, v in results.stream.derived.items()]
    return [line for line in lines if line]


def _row(particle: ParticleResult) -> list[str]:
    fit = particle.fit
    tau = "-"
    if particle.tau_int is not None and particle.tau_int_error is not None:
        tau = format_error(particle.tau_int, particle.tau_int_error)
    return [
        particle.formatted,
        *([] if particle.physical is None else [particle.physical.formatted]),
        f"{particle.statistical_error:.2g}",
        f"{particle.model_error:.2g}",
        str(fit.n_states),
        f"{fit.t_min}-{fit.t_max}",
        f"{fit.p_value:.2f}",
        tau,
    ]
