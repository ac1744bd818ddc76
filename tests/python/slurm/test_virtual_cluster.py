"""These tests cover the harness itself: four nodes, GPUs handed out, and a killed node whose srun
nevertheless returns 0."""

from __future__ import annotations

import time


def test_four_nodes_run_a_step_each(cluster):
    names = cluster.output("srun", "-N4", "-n4", "printenv", "SLURMD_NODENAME").split()
    assert sorted(names) == ["n1", "n2", "n3", "n4"]


def test_gpus_are_handed_out(cluster):
    seen = cluster.output("srun", "-N1", "-n1", "--gres=gpu:2", "printenv", "CUDA_VISIBLE_DEVICES")
    assert seen == "0,1"


def test_killed_node_is_noticed_and_returns(own_cluster):
    own_cluster.kill_node("n2")
    deadline = time.monotonic() + 160
    while not own_cluster.node_state("n2").startswith("down") and time.monotonic() < deadline:
        time.sleep(0.2)
    assert own_cluster.node_state("n2").startswith("down")
    own_cluster.start_node("n2")
    while own_cluster.node_state("n2") != "idle" and time.monotonic() < deadline:
        time.sleep(0.2)
    assert own_cluster.node_state("n2") == "idle"


def test_drained_nodes_are_resumed(cluster):
    cluster.call("scontrol", "update", "nodename=n3", "state=drain", "reason=test")
    assert cluster.node_state("n3") == "drained"
    cluster.resume_drained_nodes()
    names = cluster.output("srun", "-N4", "-n4", "printenv", "SLURMD_NODENAME").split()
    assert sorted(names) == ["n1", "n2", "n3", "n4"]
