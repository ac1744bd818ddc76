"""These tests make mistakes in campaign and machine files: each is refused when the file is read, with place
and reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_tools import HEAD, machine

from trellis.campaign.attempt import Attempt, prepare
from trellis.campaign.files import parse_campaign, parse_machine
from trellis.campaign.model import Place, Placement
from trellis.campaign.planner import Planner
from trellis.campaign.shapes import check_requests
from trellis.errors import Error


def parse(tasks: str, head: str = HEAD):
    return parse_campaign(head + tasks, Path("/tmp")).tasks


def task(keys: str, name: str = "a", command: str = "'x'") -> str:
    return f"[[task]]\nname = '{name}'\ncommand = {command}\n{keys}\n"


OUTPUT = "outputs = ['o']"

MISTAKES = {
    "keys": [
        ("[[task]]\nname = 'a'\ncomand = 'x'\n", "unknown key; did you mean 'command'"),
        (task("alternatives = [{ node = 2 }]"), "unknown key; did you mean 'nodes'"),
        (task("retries = { tsk = 1 }"), "unknown key; did you mean 'task'"),
        ("[[task]]\nname = 'a'\n", "needs `command`"),
        (task("", command="[]"), "needs `command`"),
        (task("", command="['']"), "a command begins with the name of a program"),
    ],
    "names": [
        (task("over = { stream = ['x'] }", "a-{strem}"), "did you mean {stream}"),
        (task("") + task(""), "two tasks are called"),
        (task("", ""), "cannot be called ''"),
        ('[[task]]\nname = "a\\u0007"\ncommand = "x"\n', "cannot be called"),
        (task("", "a-{ranks}"), "{ranks} in 'a-{ranks}' is known only when the task is launched"),
        (task("outputs = ['o.{attempt}']"), "is known only when the task is launched"),
        (task("over = { c = [[1]] }", "a-{c:04d}"), "unsupported format string"),
        (task("over = { c = [1] }", "a-{c:9999999d}"), "a width has at most 3 digits"),
    ],
    "values": [
        (task("over = { i = '5..1' }"), "expected a list, a range"),
        (task("over = { i = '1..10000000000' }"), "more than 10000000 values"),
        (task("over = { i = '1..10000', j = '1..10000' }"), "100000000 tasks, at most"),
        (task("over = { i = 5 }"), "task.0.over.i: Input should be a valid string; found 5"),
        (task("spread = 1000"), "less than or equal to 3"),
        (task("", command="'x {output:z}'") + OUTPUT, "{output:z}: write {output}"),
        (task("", command="'x {output:1}'") + OUTPUT, "it has 1 outputs"),
        (task("environment = { O = '{output}' }"), "it has 0 outputs"),
        (task("alternatives = [{ environment = { O = '{output:3}' } }]\n" + OUTPUT), "it has 1 outputs"),
        (task("environment = { 'A=B' = '1' }"), "a variable cannot be called 'A=B'"),
        (task('directory = "\\u0000"'), "zero byte"),
    ],
    "dependencies": [
        (task("after = ['bb']"), "there is no task 'bb'"),
        (task("after = ['b*']"), "nothing matches 'b*'"),
        (task("after = ['b']") + task("after = ['a']", "b"), "wait for each other: a -> b -> a"),
        (task("needs = ['o']\n" + OUTPUT), "wait for each other: a -> a"),
        (task("needs = ['d/../o']") + task("after = ['a']\n" + OUTPUT, "b"), "a -> b -> a"),
        (task("needs = ['']"), "an empty path"),
    ],
    "outputs": [
        (task(OUTPUT) + task("outputs = ['./o']", "b"), "'./o' is its output and of task 'a'"),
        (task("outputs = ['o', 'o']"), "'o' is its output twice"),
        (task("outputs = ['']"), "an output is a file, not ''"),
        (task("outputs = ['d/']"), "an output is a file, not 'd/'"),
        (task(f"outputs = ['d/{'x' * 201}']"), "the name of an output has at most 200 bytes"),
        (task("outputs = [{ path = 'o', sha256 = 'z' }]"), "outputs.0.table.sha256"),
    ],
    "durations": [
        (task("estimate = '5 parsecs'"), "task.0.estimate.text: not a duration"),
        (task("timeout = 'soon'"), ":9: task.0.timeout: not a duration"),
        (task("timeout = 0"), "it must be longer than 0"),
        (task("estimate = true"), "not a duration"),
        (task("estimate = -1"), "not a duration"),
        (task("estimate = nan"), "not a duration"),
        (task(f"estimate = '{'9' * 400}'"), "not a duration"),
        (task("estimate = {}"), "give `formula`, `model`, or `by` and `table`"),
        *(
            (task(f"estimate = {{ formula = '{formula}' }}"), message)
            for formula, message in [
                ("__import__(1)", "is not understood"),
                ("-5", "gives -5.0; it must be finite and not negative"),
                ("1e308 * 10", "gives inf"),
                ("(-1) ** 0.5", "complex"),
                ("9 ** 9 ** 9", "out of range"),
                ("min()", "expected at least 1 argument"),
                ("sqrt(1, 2)", "exactly one argument"),
                ("1 / 0", "division by zero"),
            ]
        ),
    ],
    "requests": [
        (task("nodes = 3\nranks = 2"), "3 nodes for 2 ranks"),
        (task("gpus_per_rank = 1.5"), "a fraction below 1"),
        (task("gpus_per_rank = 1e-4"), "the smallest fraction is 0.001"),
        (task("ranks = 2\nmin_ranks_per_node = 4"), "min_ranks_per_node is 4, but there are 2 ranks"),
        (task("ranks = 1000000000"), "less than or equal to 10000000"),
    ],
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_are_named(kind: str) -> None:
    for tasks, message in MISTAKES[kind]:
        with pytest.raises(Error) as error:
            parse(tasks)
        assert message in str(error.value), tasks


@pytest.mark.parametrize(
    "keys, message",
    [
        ("lease = 0", ":4: campaign.lease: it must be longer than 0"),
        ("hang_least = 'x'", ":4: campaign.hang_least: not a duration"),
        ("orphans = 'eat'", "'end' or 'await'"),
    ],
)
def test_mistakes_in_the_head_are_named(keys: str, message: str) -> None:
    with pytest.raises(Error) as error:
        parse(task(""), f"[campaign]\nname = 'c'\n\n{keys}\n")
    assert message in str(error.value)


def test_a_key_that_is_like_no_other_gets_no_proposal() -> None:
    """The proposal was node_failures, which has half of the letters."""
    with pytest.raises(Error) as error:
        parse_machine("[machine]\nname = 'm'\nmodules = ['gcc']\n[[nodes]]\ncpus = 1\n")
    assert "machine.modules: unknown key. Valid here: " in str(error.value)


@pytest.mark.parametrize(
    "text, message",
    [
        ("cpus = 0", "greater than or equal to 1"),
        ("cpus = 2\ncount = 10000000", "less than or equal to 1000000"),
        ("cpus = 2\n[allocation]\nlength = 10\ndrain = '1min'", "nothing is left of a length of 10"),
        ("cpus = 2\nnames = ['a', 'a']", "a name occurs twice"),
    ],
)
def test_mistakes_in_machine_files_are_named(text: str, message: str) -> None:
    with pytest.raises(Error) as error:
        parse_machine(f"[machine]\nname = 'm'\n[[nodes]]\n{text}\n")
    assert message in str(error.value)


@pytest.mark.parametrize(
    "launcher, options, message",
    [
        ("sge", "", "no launcher 'sge'; there are flux,"),
        (
            "slurm",
            "check_second = 5",
            "launcher_options.check_second: unknown to the launcher 'slurm'; did you",
        ),
        ("slurm", "check_seconds = 'often'", "check_seconds: expected seconds, found 'often'"),
        ("process", "mpi = 'mpirun'", "mpi: expected a list of words, found 'mpirun'"),
        ("process", "bind = 1", "bind: expected true or false, found 1"),
    ],
)
def test_launchers_and_their_options_are_checked_when_the_file_is_read(launcher, options, message) -> None:
    text = f"[machine]\nname = 'm'\nlauncher = '{launcher}'\n[[nodes]]\ncpus = 1\n"
    with pytest.raises(Error) as error:
        parse_machine(f"{text}[launcher_options]\n{options}\n")
    assert message in str(error.value)


def test_who_needs_a_file_waits_for_its_maker() -> None:
    """If it did not wait, a file of an older run, or one that is being written, would count as there."""
    tasks = parse(task("needs = ['here', 'd/o']") + task("outputs = ['d/../d/o']", "b"))
    assert tasks["a"].after == ("b",)


def test_braces_of_the_shell_are_not_those_of_the_launch(tmp_path: Path) -> None:
    """{{ and }} are braces in the end, whatever stands between them; values are not looked into."""
    line = "for ranks in {s}; do echo ${{ranks}} {{output}} {ranks} {output}; done"
    one = parse_campaign(
        HEAD + task(f"over = {{ s = ['{{nodes}}'] }}\n{OUTPUT}", "a-{s}", f"'{line}'"), tmp_path
    )
    attempt = Attempt(
        one.tasks["a-{nodes}"], 0, Placement((Place("n1", 3, (0, 1, 2)),)), 1.0, [], Path("log"), 0.0, 0.0
    )
    attempt.outputs = [(attempt.task.outputs[0], "o.partial", True)]
    attempt.log = tmp_path / "log"
    launch, _ = prepare(attempt, one, machine(), keeps_whole=False)
    assert launch.command[-1] == "for ranks in {nodes}; do echo ${ranks} {output} 3 o.partial; done"


def test_patterns_come_in_the_order_of_the_file() -> None:
    tasks = task("over = { i = '9..11', j = '1..2' }", "p-{i}-{j}") + task("", "p")
    tasks += task("after = ['p-*-1', '*-9-2', 'p-1[01]-2*']", "end")
    assert parse(tasks)["end"].after == ("p-9-1", "p-10-1", "p-11-1", "p-9-2", "p-10-2", "p-11-2")


def test_a_pattern_for_each_configuration_looks_at_few_names(monkeypatch) -> None:
    """The patterns, 10^4 in 10^5 tasks, must not be compared 10^9 times."""
    import fnmatch

    looked = []
    matching = fnmatch.fnmatchcase
    monkeypatch.setattr(fnmatch, "fnmatchcase", lambda name, one: looked.append(name) or matching(name, one))
    tasks = task("over = { c = '1..300', s = '1..4' }", "p-{c}-{s}")
    tasks += task("over = { c = '1..300' }\nafter = ['p-{c}-*']", "c-{c}")
    found = parse(tasks)
    assert found["c-30"].after == ("p-30-1", "p-30-2", "p-30-3", "p-30-4")
    assert len(looked) == 1200


def test_the_least_number_of_ranks_per_node_is_kept() -> None:
    check_requests(parse(task("ranks = 8\nmin_ranks_per_node = 2")).values(), machine(nodes=4, cpus=2))
    with pytest.raises(Error, match=r"4 ranks per node \(min_ranks_per_node\) do not fit"):
        check_requests(parse(task("ranks = 8\nmin_ranks_per_node = 4")).values(), machine(nodes=4, cpus=2))


@pytest.mark.parametrize("ranks, expected", [(5, [2, 1, 1, 1]), (10, [3, 3, 2, 2]), (8, [2, 2, 2, 2])])
def test_ranks_that_do_not_divide_are_spread_evenly(ranks: int, expected: list[int]) -> None:
    tasks = parse(task(f"ranks = {ranks}\nnodes = 4"))
    where = machine(nodes=4, cpus=3)
    check_requests(tasks.values(), where)
    planner = Planner(where, tasks, lambda one, i: one.alternatives[i].estimate)
    for node in where.usable:
        planner.add_node(node)
    planner.ready("a")
    assert [place.ranks for place in planner.plan(0.0)[0].placement.places] == expected
