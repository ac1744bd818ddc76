"""{names} in the strings of a campaign file, value ranges, and formulas of parameters."""

from __future__ import annotations

import ast
import difflib
import math
import operator
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import BadArgument

#: Filled in when a task is launched, not when the file is expanded.
AT_LAUNCH = frozenset({"output", "ranks", "threads", "nodes", "gpus", "run_file", "attempt"})
_FIELD = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)(?:([+-])(\d+))?(?::([^{}]*))?\}")
_RANGE = re.compile(r"^(-?\d+)\.\.(-?\d+)(?:\.\.(\d+))?$")


def fill(text: str, values: Mapping[str, object], where: str) -> str:
    """Replace {name}, {name+1}, {name-10} and {name:04d}; {{ and }} are braces.

    Raises
    ------
    BadArgument
        A name is unknown; the message has the nearest one.
    """

    def one(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return match[0][0]
        if name not in values:
            if name in AT_LAUNCH:
                return match[0]
            known = sorted({*values, *AT_LAUNCH})
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {{{near[0]}}}? " if near else ""
            raise BadArgument(
                f"{where}: unknown name in {text!r}: {{{name}}}; {hint}Known: {', '.join(known)}"
            )
        value = values[name]
        if match[2]:
            if not isinstance(value, int):
                raise BadArgument(f"{where}: {match[0]} in {text!r}: {name} is {value!r}, not a whole number")
            value += int(match[2] + match[3])
        try:
            return format(value, match[4] or "")
        except ValueError as error:
            raise BadArgument(f"{where}: {match[0]} in {text!r}: {error}") from None

    return _FIELD.sub(one, text)


def fill_at_launch(text: str, values: Mapping[str, object], outputs: list[str], where: str) -> str:
    """Replace the names of AT_LAUNCH; {output:2} is the third output."""

    def one(match: re.Match[str]) -> str:
        name = match[1]
        if name == "output":
            index = int(match[4] or 0)
            if index >= len(outputs):
                raise BadArgument(f"{where}: {match[0]}: the task has {len(outputs)} outputs")
            return outputs[index]
        return str(values[name]) if name in values else match[0]

    return _FIELD.sub(one, text)


def uses_outputs(words: Iterable[str]) -> set[int]:
    """Indices of the outputs that a command names by {output} or {output:N}."""
    return {int(m[4] or 0) for word in words for m in _FIELD.finditer(word) if m[1] == "output"}


def value_list(value: object, variables: Mapping[str, Any], where: str) -> list[Any]:
    """The values of an expansion: a list, a range "1..10" or "0..90..10" (ends included), or a variable."""
    if isinstance(value, str) and value in variables:
        value = variables[value]
    if isinstance(value, str) and (match := _RANGE.match(value)):
        first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
        if last >= first and step > 0:
            return list(range(first, last + 1, step))
    if isinstance(value, list) and value:
        return value
    raise BadArgument(
        f"{where}: expected a list, a range such as '1..10' or '0..90..10', or the name of a list in "
        f"[variables] ({', '.join(sorted(variables)) or 'none'}); found {value!r}"
    )


_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}
_FUNCTIONS = {"sqrt": math.sqrt, "log": math.log, "exp": math.exp, "min": min, "max": max, "abs": abs}


def evaluate(formula: str, values: Mapping[str, object], where: str) -> float:
    """A formula of parameters: + - * / **, parentheses, sqrt, log, exp, min, max, abs.

    Raises
    ------
    BadArgument
        Anything else in it, or an unknown name.
    """

    def value(node: ast.AST) -> float:
        if isinstance(node, ast.Expression):
            return value(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name) and isinstance(values.get(node.id), (int, float)):
            return values[node.id]  # type: ignore[return-value]
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.operand))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            return _FUNCTIONS[node.func.id](*map(value, node.args))
        numbers = sorted(name for name, v in values.items() if isinstance(v, (int, float)))
        raise BadArgument(
            f"{where}: formula {formula!r}: {ast.unparse(node)!r} is not understood; there are numbers, "
            f"{', '.join(numbers) or 'no parameters'}, + - * / ** and {', '.join(_FUNCTIONS)}"
        )

    try:
        return float(value(ast.parse(formula, mode="eval")))
    except (SyntaxError, ArithmeticError, ValueError) as error:
        if isinstance(error, BadArgument):
            raise
        raise BadArgument(f"{where}: formula {formula!r}: {error}") from None
