"""Engines give no answer for a while, or take what they seem to refuse: no campaign ends of that."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from campaign_tools import attempts, run, write
from engine_tools import Attempts, engine_of
from false_slurm import calls, install

from trellis.campaign import allocations
from trellis.campaign.files import load_campaign, parse_machine
from trellis.campaign.launchers import flux, hyperqueue, patience, slurm_system
from trellis.campaign.launchers.base import Ended
from trellis.campaign.launchers.patience import NoAnswer, patiently
from trellis.campaign.submission import submit_once
from trellis.errors import NotAvailable

MACHINE = """
[machine]
name = "m"
launcher = "{launcher}"
settle = 0
[[nodes]]
count = 2
cpus = 2
[allocation]
length = "1h"
join_timeout = 60
[launcher_options]
check_seconds = 0.2
"""
AWAY = "echo 'slurm_load_jobs error: Socket timed out on send/recv operation' >&2; exit 1"


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch) -> None:
    monkeypatch.setattr(patience, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(patience, "LONGEST_PAUSE", 0.2)


@pytest.mark.parametrize(
    "faults",
    [{1: AWAY}, dict.fromkeys(range(3, 9), AWAY), {1: "exit 0", 2: "echo '17|soon|n[1-x]'; exit 0"}],
    ids=["first", "third-on", "odd"],
)
def test_a_question_without_an_answer_ends_no_campaign(tmp_path: Path, monkeypatch, faults, capfd) -> None:
    here = install(tmp_path, monkeypatch, squeue=faults)
    path = write(tmp_path, '[[task]]\nname = "a"\ncommand = "echo x > {output}"\noutputs = ["a"]\n')
    assert run(path, parse_machine(MACHINE.format(launcher="slurm_steps"))).counts == {"done": 1}
    assert calls(here, "squeue") > max(faults)
    assert len(attempts(tmp_path)) == 1
    assert "asked again, for up to 300 s" in capfd.readouterr().err


def test_a_step_that_was_made_though_srun_failed_is_ended_before_the_next_attempt(
    tmp_path: Path, monkeypatch
) -> None:
    error = "srun: error: Unable to create step for job 17: Socket timed out on send/recv operation"
    install(tmp_path, monkeypatch, srun={1: f'step n1 "$@" & sleep 0.5; echo "{error}" >&2; exit 1'})
    command = (
        "test {attempt} = 0 && echo $$ > first && exec sleep 60; kill -0 $(cat first) || echo x > {output}"
    )
    path = write(tmp_path, f'[[task]]\nname = "a"\ncommand = "{command}"\noutputs = ["a"]\n')
    assert run(path, parse_machine(MACHINE.format(launcher="slurm_steps"))).counts == {"done": 1}
    first, second = attempts(tmp_path)
    assert (first["outcome"], second["outcome"]) == ("launcher", "done")
    assert "Socket timed out" in first["reason"]
    assert second["ended"] - first["started"] < 45, "its program was ended, not awaited"


def test_agents_are_started_again_where_srun_failed(tmp_path: Path, monkeypatch) -> None:
    here = install(tmp_path, monkeypatch, srun={1: "exit 1"})
    path = write(tmp_path, '[[task]]\nname = "a"\ncommand = "echo x > {output}"\noutputs = ["a"]\n')
    assert run(path, parse_machine(MACHINE.format(launcher="slurm_agents"))).counts == {"done": 1}
    assert calls(here, "srun") == 2


def test_questions_end_after_a_time_or_when_somebody_wants_that(monkeypatch, capfd) -> None:
    asked = []

    def question() -> None:
        asked.append(time.monotonic())
        raise NoAnswer("squeue: Socket timed out")

    monkeypatch.setattr(patience, "SECONDS", 0.5)
    with pytest.raises(NotAvailable, match=r"Socket timed out \(asked again and again for \d+ s\)"):
        patiently(question)
    assert len(asked) > 2
    assert capfd.readouterr().err.count("notice: ") == 1
    del asked[:]
    with pytest.raises(NoAnswer):
        patiently(question, lambda: True)
    assert len(asked) == 1


def test_what_is_asked_wrongly_is_not_asked_again(tmp_path: Path, monkeypatch) -> None:
    install(tmp_path, monkeypatch, squeue={1: "echo 'squeue: error: Invalid user: 12' >&2; exit 1"})
    for command in ("squeue", "no-such-program"):
        with pytest.raises(NotAvailable) as found:
            slurm_system.ask(command)
        assert not isinstance(found.value, NoAnswer)


# The tests from here on are about batch jobs.


def _submit(**options) -> str:
    return submit_once(["sbatch", "--parsable", "--job-name=c-1", "script"], "c-1", **options)


TIMED_OUT = "echo 'sbatch: error: Batch job submission failed: Socket timed out' >&2; exit 1"


@pytest.mark.parametrize("says", [TIMED_OUT, "exit 1", "echo Submitted; exit 0", "kill -9 $$"])
def test_a_job_that_was_taken_though_sbatch_failed_is_not_submitted_again(
    tmp_path: Path, monkeypatch, says: str
) -> None:
    here = install(tmp_path, monkeypatch, sbatch={1: f"take; {says}"}, squeue={1: AWAY})
    assert _submit() == "101"
    assert (here / "jobs").read_text() == "101 c-1\n"
    assert calls(here, "squeue") == 2


def test_a_job_that_was_not_taken_is_submitted_again(tmp_path: Path, monkeypatch) -> None:
    here = install(tmp_path, monkeypatch, sbatch={1: TIMED_OUT, 2: TIMED_OUT})
    assert _submit() == "103"
    assert (here / "jobs").read_text() == "103 c-1\n"
    assert _submit(is_repeat=True) == "103"
    assert calls(here, "sbatch") == 3


def test_a_request_that_is_taken_late_is_cancelled(tmp_path: Path, monkeypatch) -> None:
    late = "take; calls=102; take; echo 202; exit 0"  # the first request's job and this one's are there
    here = install(tmp_path, monkeypatch, sbatch={1: TIMED_OUT, 2: late})
    assert _submit() == "202"
    assert (here / "cancelled").read_text() == "102\n"


def test_a_refusal_is_said_at_once_and_repeated_where_limits_may_pass(tmp_path: Path, monkeypatch) -> None:
    limit = "echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2; exit 1"
    here = install(tmp_path, monkeypatch, sbatch={1: limit, 2: limit})
    with pytest.raises(NotAvailable, match="QOSMaxSubmitJobPerUserLimit"):
        _submit()
    assert calls(here, "sbatch") == 1
    assert _submit(is_stubborn=True) == "103"


def test_submissions_of_a_campaign_have_names_of_their_own(tmp_path: Path, monkeypatch) -> None:
    here = install(tmp_path, monkeypatch, sbatch={1: f"take; {TIMED_OUT}"})
    path = write(tmp_path, '[[task]]\nname = "t"\ncommand = "true"\n')
    machine = parse_machine(MACHINE.format(launcher="slurm"))
    campaign = load_campaign(path)
    jobs = [allocations.submit(campaign, path, machine, "m.toml") for _ in range(2)]
    assert jobs == ["101", "102"]
    names = [line.split()[1] for line in (here / "jobs").read_text().splitlines()]
    assert len(set(names)) == 2
    assert all(name.startswith("trellis-c-") for name in names)


# The tests from here on are about HyperQueue and Flux.


def _failing(real, faults: int, words: tuple[str, ...]):
    """Return the same function, but give no answer the first times that it is asked with these words."""
    left = [faults]

    def ask(*command, **options):
        if left[0] and " ".join(words) in " ".join(command):
            left[0] -= 1
            raise NoAnswer("not now")
        return real(*command, **options)

    return ask


@pytest.mark.parametrize("words", [("server", "info"), ("worker", "list"), ("job", "info")])
def test_hyperqueue_without_an_answer(tmp_path: Path, monkeypatch, words) -> None:
    with engine_of("hyperqueue", tmp_path, monkeypatch) as engine:
        monkeypatch.setattr(hyperqueue, "ask_json", _failing(hyperqueue.ask_json, 3, words))
        one = Attempts(engine, tmp_path)
        try:
            assert one.end(one.begin("sh", "-c", "exit 5")) == Ended(5)
        finally:
            one.launcher.close()


@pytest.mark.parametrize("words", [("getattr", "hostlist"), ("resource", "list")])
def test_flux_without_an_answer(tmp_path: Path, monkeypatch, words) -> None:
    with engine_of("flux-stand-in", tmp_path, monkeypatch) as engine:
        monkeypatch.setattr(flux, "ask", _failing(flux.ask, 3, words))
        one = Attempts(engine, tmp_path)
        try:
            assert one.end(one.begin("sh", "-c", "exit 5")) == Ended(5)
        finally:
            one.launcher.close()


def test_what_never_says_how_a_job_ended_is_a_failure_of_the_launcher(tmp_path: Path, monkeypatch) -> None:
    with engine_of("hyperqueue", tmp_path, monkeypatch) as engine:
        monkeypatch.setattr(hyperqueue, "ask_json", _failing(hyperqueue.ask_json, 10**6, ("job", "info")))
        monkeypatch.setattr(patience, "SECONDS", 0.5)
        one = Attempts(engine, tmp_path)
        try:
            error = one.end(one.begin("true")).launcher_error
            assert error.startswith("HyperQueue does not say how job ")
        finally:
            one.launcher.close()
