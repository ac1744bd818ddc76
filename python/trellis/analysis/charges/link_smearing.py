"""This module reads from measurement files whether the links of the operator were smeared in time.

Smeared links depend on the links of the neighbouring time slices: the operator then couples more than two of
them, and correlators are sums of decaying states only at distances beyond the smearing. Of links smeared on
their own time slice (`spatial = true`) nothing of the kind is expected.
"""

from __future__ import annotations

import json
import tomllib

from ...run_files.earlier import translate
from ..records.charge_results import ChargeOptions
from ..records.measurements import Measurements

#: Fits keep this many time slices between the current and source or sink on such links. With flow_time = 1.0,
#: R is off by 15 % at one slice and by 1 % at two (doc/howto/axial_charge.md).
SLICES_OFF = 2


def smearing_in_time(measurements: Measurements) -> str | None:
    """Return the smearing of the quarks' links, as "stout 0.1x3, flow 1"; None: no smearing, or unknown.

    It comes from the attribute `physics` of a file, which has its run file's tables as JSON, or else from the
    text of the run file. Files of one set of measurements agree in it (merging.py).
    """
    for file in measurements.files:
        text = file.attributes.get("physics")
        if isinstance(text, str):
            return _described(_tables(text, json.loads))
    for text in measurements.run_files:
        found = _described(_tables(text, tomllib.loads))
        if found is not None:
            return found
    return None


def off_smeared_links(options: ChargeOptions, smearing: str | None) -> ChargeOptions:
    """Return options for fixed sinks: on smeared links fits begin at SLICES_OFF or a set `t_min_first`."""
    if smearing is None or "t_min_first" in options.model_fields_set:
        return options
    first = SLICES_OFF if options.t_min_last is None else min(SLICES_OFF, options.t_min_last)
    return options.model_copy(update={"t_min_first": max(first, options.t_min_first)})


def why_later(smearing: str | None) -> str:
    """Return the reason for later windows, in words."""
    return (
        f"windows begin {SLICES_OFF} slices from source and sink, for the links under the operator are "
        f"smeared in time ({smearing}); charges.t_min_first sets another number"
    )


def _tables(text: str, parse) -> dict:
    """Return the table [smearing]; it is empty where the text cannot be parsed."""
    try:
        tables = parse(text)
    except ValueError:  # both parsers raise it; files of others may have any text there
        return {}
    if not isinstance(tables, dict):
        return {}
    found = translate(tables).content.get("smearing")  # words of the present language stay as they are
    return found if isinstance(found, dict) else {}


def _described(table: dict) -> str | None:
    """Return steps and times in words: APE first, then stout, then flow, as they are done."""
    parts = []
    for kind, weight in (("ape", "alpha"), ("stout", "rho")):
        found = table.get(kind)
        if isinstance(found, dict) and found.get("spatial") is not True:
            parts.append(f"{kind} {_number(found.get(weight)):g}x{_number(found.get('steps')):g}")
    flow = table.get("flow")
    flow_time = _number(flow.get("time")) if isinstance(flow, dict) else 0.0
    if flow_time > 0:
        parts.append(f"flow {flow_time:g}")
    return ", ".join(parts) or None


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
