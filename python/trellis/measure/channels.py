"""This module has the mesons that a run file asks for."""

from __future__ import annotations

from ..hadrons.channels import NAMED_MESONS, MesonChannel, gamma_product_name
from ..run_files.contractions import CorrelatorsTable


def meson_channels(table: CorrelatorsTable) -> list[MesonChannel]:
    """Return all mesons that a run file asks for.

    Raises
    ------
    ValueError
        Two of them have the same name.
    """
    channels: list[MesonChannel] = []
    for name in table.mesons:
        if name == "all":
            pairs = [(i, j) for i in range(16) for j in range(16)]
            channels += [
                MesonChannel(f"meson_{i:02d}_{j:02d}", "", gamma_product_name(i), gamma_product_name(j))
                for i, j in pairs
            ]
        else:
            channels += NAMED_MESONS[name]
    channels += [
        MesonChannel(m.name, m.name, m.sink, m.source, m.antiquark == "strange", m.quark == "strange")
        for m in table.meson
    ]
    names = [channel.name for channel in channels] + list(table.baryons)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        lists: dict[str, list[str]] = {"meson": [m.name for m in table.meson], "baryons": [*table.baryons]}
        key = next((key for key, given in lists.items() if set(repeated) & set(given)), "mesons")
        raise ValueError(f"correlators.{key}: each name once, found twice: {', '.join(repeated)}")
    return channels
