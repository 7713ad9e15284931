"""A model that crashes, hangs or takes all memory costs itself, not the sweep."""

import os
import time

from torch_neuronx.sweep.workers import Limits, run_all

MiB = 1 << 20
LEFT = []


def serve(pipe):
    pipe.send("ready")
    while True:
        job = pipe.recv()
        if job.startswith("leave"):
            LEFT.append(os.urandom(1) * (500 * MiB))
            time.sleep(1)
        if job == "crash":
            os._exit(3)
        if job == "hang":
            time.sleep(60)
        if job == "grow":
            held = bytearray(os.urandom(1) * (600 * MiB))
            time.sleep(60)
            del held
        pipe.send({"checks": {"load": "passed"}, "failures": []})


def test_every_job_has_an_outcome():
    outcomes = {}
    jobs = ["good", "crash", "hang", "grow", "again"]
    limits = Limits(seconds=3, bytes=500 * MiB)
    run_all(jobs, serve, 2, limits, lambda job, record: outcomes.update({job: record}))
    kinds = {job: [f["kind"] for f in record["failures"]] for job, record in outcomes.items()}
    assert kinds == {
        "good": [], "crash": ["crash"], "hang": ["timeout"], "grow": ["memory"], "again": [],
    }  # fmt: skip
    assert "(3)" in outcomes["crash"]["failures"][0]["message"]


def test_what_a_job_leaves_in_its_process_does_not_count_against_the_next():
    failures = []
    limits = Limits(seconds=30, bytes=1200 * MiB)
    jobs = ["leave", "leave again", "leave once more"]
    run_all(jobs, serve, 1, limits, lambda job, record: failures.extend(record["failures"]))
    assert not failures
