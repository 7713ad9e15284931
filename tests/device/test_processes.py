"""Forked and spawned processes, and the end of a process with work in flight."""

import sys
import textwrap

from subprocesses import run

FORKED = """
    import os, torch
    {before}
    child = os.fork()
    if child == 0:
        try:
            print(torch.ones(2, device="neuron").cpu().tolist(), torch.neuron._is_in_bad_fork())
        except RuntimeError as error:
            print(error)
        torch.manual_seed(1)
        sum([torch.ones(2)])
        os._exit(0) if {exit_at_once} else exit()
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_child_of_an_open_device_gets_a_clear_error():
    code = FORKED.format(before='x = torch.ones(3, device="neuron")', exit_at_once=False)
    (line,) = run(code).stdout.splitlines()
    assert line.endswith(
        "Cannot re-initialize neuron in forked subprocess. To use neuron with multiprocessing, "
        "you must use the 'spawn' start method"
    )


def test_a_child_forked_before_the_device_is_open_may_use_it():
    code = FORKED.format(before="torch.neuron.is_available()", exit_at_once=True)
    assert run(code + "    print('parent')\n").stdout.startswith("[1.0, 1.0] False")


def test_spawned_children_use_the_device(tmp_path):
    script = tmp_path / "spawn.py"
    script.write_text(
        textwrap.dedent("""
        import torch, torch.multiprocessing as mp

        def work(rank, queue):
            queue.put((torch.full((2,), rank).to("neuron") + 1).cpu().tolist())

        if __name__ == "__main__":
            torch.ones(1, device="neuron")
            queue = mp.get_context("spawn").Queue()
            mp.spawn(work, args=(queue,), nprocs=2)
            print(sorted(queue.get() for _ in range(2)))
        """)
    )
    code = f"import subprocess, sys; subprocess.run([{sys.executable!r}, {str(script)!r}])"
    assert run(code).stdout == "[[1, 1], [2, 2]]\n"


def test_exit_with_work_in_flight_is_clean():
    result = run("""
        import torch
        x = torch.full((512, 512), 1 / 512, device="neuron")
        for _ in range(30):
            x = x @ x
    """)
    assert result.stderr == ""


def test_a_nested_fork_and_dropped_tensors_do_not_hang():
    result = run("""
        import os, gc, torch
        x = torch.ones(1000, device="neuron")
        child = os.fork()
        if child == 0:
            del x
            gc.collect()
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(0 if torch.neuron._is_in_bad_fork() else 1)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print(x.sum().item())
    """)
    assert result.stdout == "1000.0\n"
