"""Each attempt is a Slurm job step inside an allocation, which one ``srun --exact`` makes.

Slurm confines a step to its cores and GPUs and chooses the GPUs itself; a task that shares a GPU, or has
different shares on its nodes, runs in an overlapping step whose GPUs are those of the plan.

srun's exit status is not believed: 0 was seen for a step whose node had died. srun's own messages go to a
file of their own, <log>.srun, where node failures and steps that could not be made are found.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...ground.errors import NotAvailable
from ..model import Machine, Placement
from . import patience, slurm_messages, slurm_system
from .base import LAUNCH_ONCE, MANAGER, Ended, Handle, Launch, Launcher, Orphan
from .slurm_watch import NAME, StepWatch, all_steps, local_sruns, signal_steps, steps_named

#: srun notices a dead node by itself; one that has not noticed it after this many seconds is ended.
_GRACE_SECONDS = 5.0
#: The watch is looked at with this pause for the steps of launches that failed.
_DOUBT_PAUSE = 0.1


@dataclass(slots=True)
class StepHandle(Handle):
    """This is a running srun.

    Attributes
    ----------
    doomed_since
        Its node was first seen to be lost at this time.
    seen
        Slurm last listed its step at this time, or it is that of the launch; by the monotonic clock.
    is_stuck
        It was ended because Slurm listed no step of it.
    terminated_since
        srun was first seen at this time to say that a rank had failed.
    cut_off_since
        Slurm was first seen at this time to have lost a message between the nodes of the step.
    """

    process: subprocess.Popen | None = None
    descriptor: int = -1
    name: str = ""
    doomed_since: float | None = None
    seen: float = 0.0
    is_stuck: bool = False
    terminated_since: float | None = None
    cut_off_since: float | None = None


@dataclass(slots=True)
class _Doubtful:
    """This is an attempt whose srun says that it did not start.

    It keeps when Slurm was last heard about its step.
    """

    handle: StepHandle
    ended: Ended
    looked: float


class SlurmStepLauncher(Launcher):
    """The options (``[launcher_options]`` of the machine file) are these.

    mpi
        Value of srun's --mpi; default: the site's.
    options
        Further words for srun, e.g. ``["--cpu-bind=none"]``.
    environment
        Variables for the steps, e.g. ``{OMPI_MCA_btl = "self,tcp"}``.
    overlap
        Never leave the choice of GPUs to Slurm: steps overlap, and the plan alone keeps them apart.
    check_seconds
        After so many seconds Slurm is asked which nodes are up, which steps there are and when the
        allocation ends; default 5.
    stuck_seconds
        An srun that waits for so long while Slurm lists no step of it is ended; default 120.
    kill_wait_seconds
        When a rank has failed, or Slurm has lost a message between the nodes of a step, what is left of the
        step is ended after so long; default 30.
    """

    def __init__(self, machine: Machine, *, overlap: bool = False) -> None:
        super().__init__(slurm_system.machine_in_allocation(machine))
        options = machine.launcher_options
        self._mpi = str(options.get("mpi", ""))
        self._options = [str(word) for word in options.get("options", ())]
        self._environment = {str(k): str(v) for k, v in dict(options.get("environment", {})).items()}
        self._overlap = overlap or bool(options.get("overlap", False))
        self._check_seconds = float(options.get("check_seconds", 5))
        self._stuck_seconds = float(options.get("stuck_seconds", 120))
        self._kill_wait_seconds = float(options.get("kill_wait_seconds", 30))
        self._running: dict[int, StepHandle] = {}
        self._refused: list[tuple[Handle, Ended]] = []
        self._doubtful: list[_Doubtful] = []
        self._poll = select.poll()
        self._watch: StepWatch | None = None
        self._steps_asked = 0.0
        self._terminated: set[str] = set()
        self._lost: set[str] = set()
        self._reported: set[str] = set()

    def start(self) -> None:
        slurm_system.require_slurm("srun", "squeue", "sinfo", "scancel")
        if slurm_system.job_id() is None:
            raise NotAvailable(
                "not inside a Slurm allocation (SLURM_JOB_ID is not set): run under sbatch or salloc, or let "
                "`trellis campaign submit` make one"
            )
        names = [node.name for node in self.machine.nodes]
        self._watch = StepWatch(names, self._check_seconds, self.is_stopped)
        self._watch.start()

    # ------------------------------------------------------------------ attempts

    def launch(self, launch: Launch, placement: Placement, environment: Mapping[str, str]) -> Handle:
        handle = StepHandle(launch, placement, seen=time.monotonic())
        handle.name = _step_name(launch, environment)
        if environment.get(LAUNCH_ONCE) == "1":
            placement = Placement((dataclasses.replace(placement.places[0], ranks=1),))
        words = self.command(launch, placement, handle.name, once=environment.get(LAUNCH_ONCE) == "1")
        complete = slurm_system.step_environment(environment) | self._environment
        if len({place.ranks for place in placement.places}) > 1:
            complete["SLURM_HOSTFILE"] = str(_host_file(launch, placement))
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(slurm_messages.file_of(launch), "wb") as messages:
                handle.process = subprocess.Popen(
                    words,
                    env=complete,
                    cwd=launch.directory,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=messages,
                    start_new_session=True,
                )
        except OSError as error:
            self._refused.append((handle, Ended(None, launcher_error=f"srun: {error}")))
            return handle
        handle.descriptor = os.pidfd_open(handle.process.pid)
        handle.identity = {"step": handle.name}
        self._running[handle.descriptor] = handle
        self._poll.register(handle.descriptor, select.POLLIN)
        return handle

    def command(self, launch: Launch, placement: Placement, name: str, *, once: bool = False) -> list[str]:
        """Return the srun that runs an attempt."""
        places = placement.places
        uniform = len({(p.ranks, len(p.cpus), len(p.gpus)) for p in places}) == 1
        shared = any(place.share < 1 for place in places)
        threads = max(max(len(p.cpus) // p.ranks, 1) for p in places)
        words = [
            "srun",
            f"--jobid={slurm_system.job_id()}",
            f"--job-name={name}",
            "--quiet",
            "--kill-on-bad-exit=1",
        ]
        words += [f"--nodes={len(places)}", f"--ntasks={placement.ranks}", f"--cpus-per-task={threads}"]
        if len({place.ranks for place in places}) == 1:
            words += [f"--nodelist={','.join(placement.nodes)}", f"--ntasks-per-node={places[0].ranks}"]
        else:
            words += ["--distribution=arbitrary"]
        words += [f"--output={launch.log}", f"--error={launch.log}", "--open-mode=append", "--input=none"]
        if self._mpi:
            words += [f"--mpi={self._mpi}"]
        if all(place.memory_mib for place in places):
            words += [f"--mem={max(place.memory_mib for place in places)}M"]
        if self._overlap or shared or once or not uniform:
            return [*words, "--overlap", *self._options, *_with_own_gpus(launch.command, placement)]
        gpus = len(places[0].gpus)
        words += ["--exact", f"--gres=gpu:{gpus}" if gpus else "--gres=none"]
        return [*words, *self._options, *launch.command]

    def poll(self, timeout: float) -> list[tuple[Handle, Ended]]:
        ended, self._refused = self._refused, []
        ended += self._without_steps()
        if self._doubtful:
            timeout = min(timeout, _DOUBT_PAUSE)
        if not self._running:
            if not ended:
                time.sleep(timeout)
            return ended
        self._end_doomed()
        self._end_stuck()
        for descriptor, _ in self._poll.poll(0 if ended else 1000 * timeout):
            handle = self._running.pop(descriptor)
            self._poll.unregister(descriptor)
            os.close(descriptor)
            found = self._judge(handle)
            if found.launcher_error is not None and self._watch is not None:
                self._doubtful.append(_Doubtful(handle, found, time.monotonic()))
            else:
                ended.append((handle, found))
        return ended

    def _without_steps(self) -> list[tuple[Handle, Ended]]:
        """Return launches that failed and of which Slurm lists no step.

        Slurm may have made one all the same: it is ended before the attempt is reported and
        the task starts again.
        """
        over: list[tuple[Handle, Ended]] = []
        asked, steps = self._watch.steps() if self._doubtful and self._watch else (0.0, frozenset())
        for one in list(self._doubtful):
            if asked > one.looked and one.handle.name in steps:
                signal_steps(steps_named(one.handle.name), hard=True)
                one.looked = time.monotonic()
            elif asked > one.looked or time.monotonic() - one.looked > patience.SECONDS:
                self._doubtful.remove(one)
                over.append((one.handle, one.ended))
        return over

    def descriptors(self) -> list[int]:
        """Return the file descriptors that become readable when :meth:`poll` has something to do."""
        return list(self._running)

    def _end_doomed(self) -> None:
        """End the sruns that still wait for a node which is gone."""
        lost = self._watch.lost() if self._watch else set()
        for handle in self._running.values() if lost else ():
            if lost.isdisjoint(handle.placement.nodes):
                continue
            now = time.monotonic()
            handle.doomed_since = handle.doomed_since or now
            if now - handle.doomed_since > _GRACE_SECONDS:
                self.kill(handle, hard=True)

    def _end_stuck(self) -> None:
        """End the sruns that wait for nothing: by Slurm's word, their steps never were or are over."""
        asked, steps = self._watch.steps() if self._watch else (0.0, frozenset())
        if asked == self._steps_asked:
            return
        self._steps_asked = asked
        for handle in self._running.values():
            if self._is_terminated(handle, asked) or self._is_cut_off(handle, asked):
                self.kill(handle, hard=True)
            elif handle.name in steps:
                handle.seen = asked
            elif asked - handle.seen > self._stuck_seconds:
                handle.is_stuck = True
                self.kill(handle, hard=True)

    def _is_terminated(self, handle: StepHandle, now: float) -> bool:
        """Return True if a rank failed, so srun ended the others, and it still waits for what a
        dead rank left behind.
        """
        if handle.terminated_since is None:
            if not slurm_messages.says_that_a_rank_failed(handle.launch):
                return False
            handle.terminated_since = now
        return now - handle.terminated_since > self._kill_wait_seconds

    def _is_cut_off(self, handle: StepHandle, now: float) -> bool:
        """Return True if Slurm lost a message that ranks of other nodes wait for.

        They then never leave MPI_Init, or the first message between them.
        """
        if handle.placement.ranks == 1:
            return False
        if handle.cut_off_since is None:
            if slurm_messages.lost_message(handle.launch) is None:
                return False
            handle.cut_off_since = now
        return now - handle.cut_off_since > self._kill_wait_seconds

    def _judge(self, handle: StepHandle) -> Ended:
        assert handle.process is not None
        status = handle.process.wait()
        path = slurm_messages.file_of(handle.launch)
        text = path.read_text(errors="replace")
        if not text:
            path.unlink(missing_ok=True)
        lost = slurm_messages.failed_nodes(text)
        if handle.doomed_since:
            lost |= self._watch.lost() & set(handle.placement.nodes) if self._watch else set()
        if slurm_messages.lacks_a_node(text) or lost:
            with contextlib.suppress(NotAvailable):
                lost |= slurm_system.lost_nodes(handle.placement.nodes)
        lost &= {node.name for node in self.machine.nodes}  # another name is a mistake, not a loss
        self._lost |= lost
        is_refused = status != 0 and not lost and slurm_messages.refuses_the_step(text)
        error = text.strip().splitlines()[-1] if is_refused else None
        if handle.is_stuck and not lost:
            error = f"srun was stuck: for {self._stuck_seconds:g} s Slurm listed no step of it"
        if status != 0 and not lost and error is None and handle.placement.ranks > 1:
            error = slurm_messages.lost_message(handle.launch)
        return Ended(
            status if status < 128 or status > 192 else 128 - status,
            lost_nodes=tuple(sorted(lost)),
            launcher_error=error,
            out_of_memory=slurm_messages.says_out_of_memory(text),
        )

    def kill(self, handle: Handle, *, hard: bool = False) -> None:
        assert isinstance(handle, StepHandle)
        if handle.process is None or handle.process.poll() is not None:
            return
        steps = steps_named(handle.name)
        if steps:
            signal_steps(steps, hard=hard)
        if hard or not steps:  # a step that was not made yet has nothing but its srun
            with contextlib.suppress(ProcessLookupError):
                os.killpg(handle.process.pid, signal.SIGKILL if hard else signal.SIGTERM)

    # ------------------------------------------------------------------ nodes and end

    def node_changes(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the nodes that were lost; none joins, since a node that died does not come
        back to its allocation.
        """
        lost = self._lost | (self._watch.lost() if self._watch else set())
        new = sorted(lost - self._reported)
        self._reported |= lost
        return (), new

    def seconds_left(self) -> float | None:
        return self._watch.seconds_left() if self._watch else None

    # ------------------------------------------------------------------ left-overs

    def orphans(self, state: Path, managers: Mapping[str, bool]) -> list[Orphan]:
        """Return the steps, and the sruns of this host that still wait for their step."""
        found = []
        for name in {name for _, name in (*all_steps(), *local_sruns())}:
            parts = name.split("|", 4)
            if (
                len(parts) == 5
                and parts[:2] == [NAME, _short(str(state))]
                and not managers.get(parts[2], False)
            ):
                found.append(Orphan(parts[4], int(parts[3]), parts[2], {"step": name}))
        return found

    def end_orphan(self, orphan: Orphan, *, hard: bool) -> bool:
        name = str(orphan.identity["step"])
        steps = steps_named(name)
        # SIGTERM is sent once: a program that saves its work on it is not stopped again and again meanwhile.
        due = steps if hard else [step for step in steps if step not in self._terminated]
        if due and signal_steps(due, hard=hard):
            self._terminated.update(due)
        for process, other in local_sruns():
            if other == name and (hard or not steps):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL if hard else signal.SIGTERM)
        try:
            return any(name == other for _, other in (*all_steps(), *local_sruns()))
        except NotAvailable:
            return True  # it counts as there until Slurm says that it is over

    def close(self) -> None:
        if self._watch:
            self._watch.stop()


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _step_name(launch: Launch, environment: Mapping[str, str]) -> str:
    """Return the name by which a later manager finds the step: trellis|campaign|manager|attempt|task."""
    state = str(launch.log.parent.parent)  # logs lie in <state>/logs
    return "|".join((NAME, _short(state), environment.get(MANAGER, ""), str(launch.attempt), launch.task))


def _host_file(launch: Launch, placement: Placement) -> Path:
    path = launch.log.with_name(launch.log.name + ".hosts")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{place.node}\n" * place.ranks for place in placement.places))
    return path


def _with_own_gpus(command: Sequence[str], placement: Placement) -> list[str]:
    """Return the command with CUDA_VISIBLE_DEVICES set on each node to the GPUs of the plan."""
    cases = "".join(
        f"{shlex.quote(place.node)}) gpus={','.join(map(str, place.gpus))};; " for place in placement.places
    )
    script = f'case "$SLURMD_NODENAME" in {cases}esac; CUDA_VISIBLE_DEVICES=$gpus exec "$@"'
    return ["/bin/sh", "-c", script, "sh", *command]
