"""The strings of a campaign file have {names}, value ranges, and formulas of parameters."""

from __future__ import annotations

import ast
import math
import operator
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

from ..ground.errors import BadArgument
from ..ground.nearest_word import nearest

#: These are filled in when a task is launched, not when the file is expanded.
AT_LAUNCH = frozenset({"output", "ranks", "threads", "nodes", "gpus", "run_file", "attempt"})
#: This runs a command that is a line.
SHELL = ("/bin/sh", "-c")
#: No parameter has more values, and no table has more tasks.
MOST_VALUES = 10_000_000
_MOST_DIGITS = 3  # the width in a format such as {n:06d} has no more
_FIELD = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)(?:([+-])(\d+))?(?::([^{}]*))?\}")
_RANGE = re.compile(r"^(-?\d+)\.\.(-?\d+)(?:\.\.(\d+))?$")


def fill(text: str, values: Mapping[str, object], where: str, *, for_launch: bool = False) -> str:
    """Replace {name}, {name+1}, {name-10} and {name:04d}; {{ and }} are braces.

    Parameters
    ----------
    for_launch
        The names of AT_LAUNCH stay, and so do doubled braces: :func:`fill_at_launch` comes later.

    Raises
    ------
    BadArgument
        A name is unknown; the message has the nearest one.
    """

    def one(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return match[0] if for_launch else match[0][0]
        if name not in values:
            if name in AT_LAUNCH and for_launch:
                return match[0]
            if name in AT_LAUNCH:
                raise BadArgument(
                    f"{where}: {match[0]} in {text!r} is known only when the task is launched: it may stand "
                    "in `command`, `arguments` and `environment`"
                )
            known = sorted({*values, *(AT_LAUNCH if for_launch else ())})
            near = nearest(name, known)
            hint = f"did you mean {{{near}}}? " if near is not None else ""
            raise BadArgument(
                f"{where}: unknown name in {text!r}: {{{name}}}; {hint}Known: {', '.join(known)}"
            )
        value = values[name]
        if match[2]:
            if not isinstance(value, int):
                raise BadArgument(f"{where}: {match[0]} in {text!r}: {name} is {value!r}, not a whole number")
            value += int(match[2] + match[3])
        filled = _formatted(value, match[4] or "", f"{where}: {match[0]} in {text!r}")
        return filled.replace("{", "{{").replace("}", "}}") if for_launch else filled

    return _FIELD.sub(one, text)


def _formatted(value: object, form: str, where: str) -> str:
    if re.search(rf"\d{{{_MOST_DIGITS + 1}}}", form):
        raise BadArgument(f"{where}: a width has at most {_MOST_DIGITS} digits")
    try:
        return format(value, form)
    except (TypeError, ValueError) as error:
        raise BadArgument(f"{where}: {error}") from None


def fill_at_launch(
    text: str, values: Mapping[str, object], outputs: list[str], where: str, *, for_shell: bool = False
) -> str:
    """Replace the names of AT_LAUNCH; {output:2} is the third output.

    Parameters
    ----------
    for_shell
        The text is a line for sh: paths with blanks and the like are quoted, so that each stays one word.
    """

    def one(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return match[0][0]
        if name == "output":
            index = _output_index(match, where)
            if index >= len(outputs):
                raise BadArgument(f"{where}: {match[0]}: the task has {len(outputs)} outputs")
            found = outputs[index]
        elif name in values:
            found = str(values[name])
        else:
            return match[0]
        return _for_shell(found, _quotes_at(text, match.start())) if for_shell else found

    return _FIELD.sub(one, text)


def _for_shell(value: str, quotes: str) -> str:
    if shlex.quote(value) == value:
        return value
    if quotes == "'":
        return value.replace("'", "'\\''")
    return re.sub(r'([\\"$`])', r"\\\1", value) if quotes == '"' else shlex.quote(value)


def _quotes_at(line: str, end: int) -> str:
    """Return the quote of sh that is open there: "'", '"', or ""; $(...) and `...` begin without one."""
    open_: list[str] = [""]
    at = 0
    while at < end:
        char, inner = line[at], open_[-1]
        if inner == "'" or (inner and char == inner and char in '"`'):
            if char == inner:
                open_.pop()
        elif char == "\\" or line.startswith("$(", at):
            at += 1
            if char == "$":
                open_.append("(")
        elif char in '"`' or (char == "'" and inner != '"') or (char == "(" and inner == "("):
            open_.append(char)
        elif char == ")" and inner == "(":
            open_.pop()
        elif char == "#" and inner != '"' and (at == 0 or line[at - 1] in " \t\n;&|("):
            at = line.find("\n", at) if "\n" in line[at:end] else end
        at += 1
    return open_[-1] if open_[-1] in ("'", '"') else ""


def uses_outputs(words: Iterable[str], where: str = "command") -> set[int]:
    """Return the indices of the outputs that a command names by {output} or {output:N}."""
    return {
        _output_index(m, where)
        for word in words
        if "{output" in word
        for m in _FIELD.finditer(word)
        if m[1] == "output"
    }


def _output_index(match: re.Match[str], where: str) -> int:
    if match[2] or not re.fullmatch(r"\d{0,4}", match[4] or ""):
        raise BadArgument(f"{where}: {match[0]}: write {{output}}, or {{output:1}} for the second output")
    return int(match[4] or 0)


def value_list(value: object, variables: Mapping[str, Any], where: str) -> list[Any]:
    """Return the values of an expansion: a list, a range "1..10" or "0..90..10" (ends
    included), or a variable.
    """
    if isinstance(value, str) and value in variables:
        value = variables[value]
    if isinstance(value, str) and (match := _RANGE.match(value)):
        first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
        if step > 0 and (last - first) // step >= MOST_VALUES:
            raise BadArgument(f"{where}: {value!r} has more than {MOST_VALUES} values")
        if last >= first and step > 0:
            return list(range(first, last + 1, step))
    if isinstance(value, list) and value:
        return value
    raise BadArgument(
        f"{where}: expected a list, a range such as '1..10' or '0..90..10', or the name of a list in "
        f"[variables] ({', '.join(sorted(variables)) or 'none'}); found {value!r}"
    )


_OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
    "min": min,
    "max": max,
    "abs": abs,
}


def evaluate(formula: str, values: Mapping[str, object], where: str) -> float:
    """Evaluate a formula of parameters: + - * / **, parentheses, sqrt, log, exp, min, max, abs.

    Raises
    ------
    BadArgument
        The formula has anything else in it or an unknown name, or its value is negative or not finite.
    """

    def value(node: ast.AST) -> float:
        if isinstance(node, ast.Expression):
            return value(node.body)
        if isinstance(node, ast.Constant) and _is_number(node.value):
            return float(node.value)  # powers then overflow instead of growing for ever
        if isinstance(node, ast.Name) and _is_number(known := values.get(node.id)):
            return float(known)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.operand))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            arguments = [value(argument) for argument in node.args]
            return _FUNCTIONS[node.func.id](*arguments)
        numbers = sorted(name for name, v in values.items() if _is_number(v))
        raise BadArgument(
            f"{where}: formula {formula!r}: {ast.unparse(node)!r} is not understood; there are numbers, "
            f"{', '.join(numbers) or 'no parameters'}, + - * / ** and {', '.join(_FUNCTIONS)}"
        )

    try:
        found = float(value(ast.parse(formula, mode="eval")))
    except BadArgument:
        raise
    except (SyntaxError, ArithmeticError, TypeError, ValueError, RecursionError) as error:
        raise BadArgument(f"{where}: formula {formula!r}: {error}") from None
    if not 0 <= found < math.inf:
        raise BadArgument(f"{where}: formula {formula!r} gives {found}; it must be finite and not negative")
    return found


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
