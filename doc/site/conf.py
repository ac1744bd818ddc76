"""The configuration of Sphinx for the site of doc/; tools/build_site runs it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tools")]


def load_stub() -> None:
    """Put _core.pyi into the place of the compiled part: annotations name its classes."""
    path = ROOT / "python" / "trellis" / "_core.pyi"
    stub = ModuleType("trellis._core")
    code = compile(f"from __future__ import annotations\n{path.read_text()}", str(path), "exec")
    exec(code, stub.__dict__)
    stub.__getattr__ = lambda name: MagicMock(name=name)  # type: ignore[method-assign]
    sys.modules["trellis._core"] = stub


load_stub()

from numpy.typing import ArrayLike, DTypeLike  # noqa: E402
from sphinx.util.typing import stringify_annotation  # noqa: E402

import site_docstrings  # noqa: E402
import site_names  # noqa: E402
from trellis.ground.version import __version__  # noqa: E402

project = "Trellis"
author = "The Trellis authors"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["doc/site"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"Trellis {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False

default_role = "literal"
napoleon_google_docstring = False
napoleon_custom_sections = ["Attributes"]  # as the list of definitions that it is, and not as members
napoleon_use_rtype = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
add_module_names = False

#: Names of other packages: the site is built without a network, so that their inventories are not there.
nitpick_ignore_regex = [
    (
        "py:.*",
        r"(numpy|np|npt|pathlib|collections|typing|os|types|enum|abc|h5py|matplotlib|pydantic|gvar|pandas|pyerrors|scipy|ArrayLike|DTypeLike)\b.*",
    ),
]


def own_names() -> set[str]:
    """Return the names of all classes and types of the package, public or not, and of the compiled part's."""
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "trellis"]
    return {name for module in modules for name, value in vars(module).items() if _is_type(value)}


def _is_type(value: object) -> bool:
    return isinstance(value, type) or type(value).__module__ in ("typing", "types")


#: Types of NumPy that are unions of many, by the name that sources have for them.
ALIASES = {
    "ArrayLike": stringify_annotation(ArrayLike, "smart"),
    "DTypeLike": stringify_annotation(DTypeLike, "smart"),
}
NAMES = site_names.public_name_of()
OWN = own_names()


def resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Lead a name of an annotation, which is where a class is defined, to the name that is public.

    Classes of the package that have no public name are shown without a link; any other name is a warning.
    """
    if node.get("refdomain") != "py":
        return None
    target = node.get("reftarget", "")
    public = NAMES.get(target) or next((name for name in NAMES.values() if name.endswith(f".{target}")), None)
    if public is not None:
        domain = env.get_domain("py")
        return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", public, node, content)
    name = target.split(".")[0] if node.get("reftype") == "attr" else target.rsplit(".", 1)[-1]
    return content if name in OWN else None


def process_docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place, before napoleon sees it."""
    lines[:] = site_docstrings.rewritten(lines, is_value=what in ("attribute", "property", "data"))


def process_signature(
    app: Any, what: str, name: str, value: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None] | None:
    """Leave out the signatures of models, whose keys have pages of their own, and private parameters."""
    if hasattr(value, "model_json_schema"):
        return "", None
    if signature is None:
        return None
    for name, spelled_out in ALIASES.items():
        signature = signature.replace(spelled_out, name)
    return re.sub(r", _\w+: [^,()]*(?=[,)])", "", signature), returned


def setup(app: Any) -> None:
    """Connect what is done for names and docstrings."""
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", process_docstring, priority=400)
    app.connect("autodoc-process-signature", process_signature)
