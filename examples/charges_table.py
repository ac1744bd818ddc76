"""charges_table.py OUTPUT RESULTS...: the nucleon's charges from several analyses in one Markdown table."""

import json
import sys
from pathlib import Path


def shown(quantity: dict | None) -> str:
    return "-" if quantity is None else f"{quantity['value']:.3f} +- {quantity['error']:.3f}"


def main(output: str, names: list[str]) -> None:
    lines = ["| analysis | configurations | g_A | g_V | g_A/g_V |", "|---|---|---|---|---|"]
    for name in names:
        results = json.loads(Path(name).read_text())
        found = results["nucleon_charges"]
        charges = [found["charges"]["A"], found["charges"]["V"], found["g_a_over_g_v"]]
        cells = [Path(name).parent.name, str(results["configurations"]["count"]), *map(shown, charges)]
        lines.append("| " + " | ".join(cells) + " |")
    Path(output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
