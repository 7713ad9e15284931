"""A model that crashes, hangs or takes all memory costs itself, not the sweep."""

import os
import time

from torch_neuronx.sweep.workers import Limits, run_all


def serve(pipe):
    pipe.send("ready")
    while True:
        job = pipe.recv()
        if job == "crash":
            os._exit(3)
        if job == "hang":
            time.sleep(60)
        if job == "grow":
            held = bytearray(os.urandom(1) * (600 << 20))
            time.sleep(60)
            del held
        pipe.send({"checks": {"load": "passed"}, "failures": []})


def test_every_job_has_an_outcome():
    outcomes = {}
    jobs = ["good", "crash", "hang", "grow", "again"]
    limits = Limits(seconds=3, bytes=500 << 20)
    run_all(jobs, serve, 2, limits, lambda job, record: outcomes.update({job: record}))
    kinds = {job: [f["kind"] for f in record["failures"]] for job, record in outcomes.items()}
    assert kinds == {
        "good": [], "crash": ["crash"], "hang": ["timeout"], "grow": ["memory"], "again": [],
    }  # fmt: skip
    assert "(3)" in outcomes["crash"]["failures"][0]["message"]
