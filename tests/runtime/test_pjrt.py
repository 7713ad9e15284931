"""Buffers, launches, donation and events of the PJRT layer (csrc/pjrt), on every CPU plugin.

Plugins of different ages run the same tests, because what one of them accepts another refuses.
Nothing here makes a tensor on a neuron device.
"""

import gc
import math
import threading

import pytest
import torch
from pjrt_programs import (
    ADD,
    ADD_IN_PLACE,
    MATRIX,
    PORTABLE,
    SLOW,
    TRANSPOSE,
    TRANSPOSE_COLUMN_MAJOR,
    get,
    matrix,
    put,
    run,
)

DTYPES = [
    torch.bool,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
    torch.float8_e5m2,
    torch.float8_e4m3fn,
    torch.float8_e5m2fnuz,
    torch.float8_e4m3fnuz,
    torch.float8_e8m0fnu,
]


class TestTransfer:
    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    @pytest.mark.parametrize("shape", [(), (1,), (2, 3), (5, 7, 11)], ids=str)
    def test_round_trip(self, client, dtype, shape):
        count = math.prod(shape) * dtype.itemsize
        pattern = [i % 2 if dtype is torch.bool else i * 37 % 251 for i in range(count)]
        buffer = client.from_host(bytes(pattern), dtype, list(shape))
        assert buffer.dtype is dtype
        assert buffer.dims == list(shape)
        assert buffer.nbytes == count
        assert buffer.to_host() == bytes(pattern)
        assert buffer.copy_to_host() == bytes(pattern)

    @pytest.mark.parametrize("shape", [(0,), (0, 64), (3, 0, 2)], ids=str)
    def test_without_elements(self, client, shape):
        buffer = client.from_host(b"", torch.float32, list(shape))
        assert buffer.nbytes == 0
        assert buffer.to_host() == b""
        assert buffer.copy_to_host() == b""

    def test_large(self, client):
        data = torch.arange(1 << 20, dtype=torch.int32).numpy().tobytes()
        assert client.from_host(data, torch.int32, [1 << 20]).to_host() == data

    def test_host_memory_may_change_afterwards(self, client):
        # The bytes object is freed by the time the contents are read.
        buffers = [client.from_host(bytes([i]) * 4096, torch.uint8, [4096]) for i in range(50)]
        for i, buffer in enumerate(buffers):
            assert buffer.to_host() == bytes([i]) * 4096

    def test_dtype_that_pjrt_lacks(self, client):
        with pytest.raises(NotImplementedError, match="no element type for"):
            client.from_host(b"\0", torch.float4_e2m1fn_x2, [1])

    def test_device_that_does_not_exist(self, client):
        for device in (2, -1):
            with pytest.raises(RuntimeError, match=f"neuron:{device} does not exist; there are 2"):
                client.from_host(b"\0", torch.uint8, [1], device)

    @pytest.mark.parametrize("shape", [(), (4, 4), (1000, 100)], ids=str)
    def test_between_devices(self, client, shape):
        source = torch.rand(shape)
        copy = put(client, source, device=0).copy_to_device(1)
        assert copy.device == 1
        assert torch.equal(get(copy), source)

    def test_to_the_same_device_shares_the_buffer(self, client):
        buffer = put(client, matrix(1))
        assert buffer.copy_to_device(0) is buffer


class TestExecute:
    @pytest.mark.parametrize("device", [0, 1])
    def test_portable_program_runs_on_each_device(self, client, device):
        arguments = [put(client, matrix(i), device) for i in (1, 2)]
        (output,) = run(client, ADD, arguments, device=device)
        assert output.device == device
        assert torch.equal(get(output), matrix(3))

    def test_one_buffer_as_two_arguments(self, client):
        buffer = put(client, matrix(2))
        (output,) = run(client, ADD, [buffer, buffer])
        assert torch.equal(get(output), matrix(4))

    def test_small_buffers_are_arguments_like_others(self, client):
        program = ADD.replace(b"4x4x", b"")
        arguments = [put(client, torch.tensor(value)) for value in (1.5, 2.0)]
        (output,) = run(client, program, arguments, [(torch.float32, [])])
        assert get(output).item() == 3.5

    def test_argument_may_be_deleted_while_the_program_runs(self, client):
        executable = client.compile(SLOW, PORTABLE)
        results = [(torch.float32, [1024, 1024])]
        argument = put(client, torch.full((1024, 1024), 0.5))
        outputs, done = client.execute(executable, [argument], results)
        del argument
        done.wait()
        assert torch.equal(get(outputs[0]), torch.full((1024, 1024), 256.0))

    def test_reading_waits_for_the_program(self, client):
        executable = client.compile(SLOW, PORTABLE)
        buffer = put(client, torch.full((1024, 1024), 2.0**-10))
        for _ in range(3):
            (buffer,), _ = client.execute(executable, [buffer], [(torch.float32, [1024, 1024])])
        assert torch.equal(get(buffer), torch.full((1024, 1024), 2.0**-10))

    def test_result_is_row_major(self, client):
        source = torch.arange(6.0).view(2, 3)
        (output,) = run(client, TRANSPOSE, [put(client, source)], [(torch.float32, [3, 2])])
        assert torch.equal(get(output), source.t())
        assert output.copy_to_host() == output.to_host()

    def test_result_that_is_not_row_major_is_refused(self, client):
        source = put(client, torch.arange(6.0).view(2, 3))
        (output,) = run(client, TRANSPOSE_COLUMN_MAJOR, [source], [(torch.float32, [3, 2])])
        with pytest.raises(RuntimeError, match="not row-major"):
            output.to_host()

    def test_wrong_number_of_arguments(self, client):
        with pytest.raises(RuntimeError, match="failed to launch a program on neuron:0: Execution"):
            run(client, ADD, [put(client, matrix(1))])

    def test_argument_of_another_device(self, client):
        arguments = [put(client, matrix(1), device) for device in (0, 1)]
        with pytest.raises(RuntimeError, match="failed to launch a program on neuron:0: Buffer"):
            run(client, ADD, arguments)

    def test_from_many_threads(self, client):
        executable = client.compile(ADD, PORTABLE)
        wrong = []

        def work(seed):
            for i in range(100):
                arguments = [put(client, matrix(seed)), put(client, matrix(i))]
                (output,), _ = client.execute(executable, arguments, MATRIX)
                if not torch.equal(get(output), matrix(seed + i)):
                    wrong.append((seed, i))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


class TestDonation:
    def test_donated_argument_is_gone(self, client):
        a, b = put(client, matrix(1)), put(client, matrix(2))
        (output,) = run(client, ADD_IN_PLACE, [a, b])
        assert torch.equal(get(output), matrix(3))
        assert torch.equal(get(b), matrix(2))
        with pytest.raises(RuntimeError, match="deleted or donated"):
            a.to_host()
        with pytest.raises(RuntimeError, match="deleted or donated"):
            run(client, ADD, [a, b])

    def test_non_donatable_argument_stays_as_it_was(self, client):
        a, b = put(client, matrix(1)), put(client, matrix(2))
        for _ in range(2):
            (output,) = run(client, ADD_IN_PLACE, [a, b], non_donatable=[0])
            assert torch.equal(get(output), matrix(3))
            assert torch.equal(get(a), matrix(1))

    def test_one_buffer_both_donated_and_read(self, client):
        a = put(client, matrix(1))
        with pytest.raises(RuntimeError, match="donated in the same call"):
            run(client, ADD_IN_PLACE, [a, a])

    def test_same_buffer_twice_when_not_donatable(self, client):
        a = put(client, matrix(1))
        (output,) = run(client, ADD_IN_PLACE, [a, a], non_donatable=[0])
        assert torch.equal(get(output), matrix(2))
        assert torch.equal(get(a), matrix(1))

    def test_small_donated_argument(self, client):
        program = ADD_IN_PLACE.replace(b"4x4x", b"")
        buffer, one = (put(client, torch.tensor(1.0)) for _ in range(2))
        for _ in range(5):
            (buffer,) = run(client, program, [buffer, one], [(torch.float32, [])])
        assert get(buffer).item() == 6.0

    def test_output_outlives_its_donated_argument(self, client):
        a, b = put(client, matrix(1)), put(client, matrix(2))
        (output,) = run(client, ADD_IN_PLACE, [a, b])
        del a
        gc.collect()
        assert torch.equal(get(output), matrix(3))


class TestEvents:
    def test_of_a_running_program(self, client):
        executable = client.compile(SLOW, PORTABLE)
        argument = put(client, torch.zeros(1024, 1024))
        outputs, done = client.execute(executable, [argument], [(torch.float32, [1024, 1024])])
        ready = outputs[0].ready()
        ready.wait()
        done.wait()
        assert ready.is_ready() and done.is_ready()

    @pytest.mark.parametrize("program", [ADD, SLOW], ids=["fast", "slow"])
    def test_callback(self, client, program):
        size = 4 if program is ADD else 1024
        arguments = [put(client, torch.zeros(size, size))] * (2 if program is ADD else 1)
        executable = client.compile(program, PORTABLE)
        _, done = client.execute(executable, arguments, [(torch.float32, [size, size])])
        messages, called = [], threading.Event()
        done.on_ready(lambda message: (messages.append(message), called.set()))
        del done  # the callback does not need the event
        assert called.wait(timeout=30)
        assert messages == [""]

    def test_callback_gets_the_error(self, client):
        a, b = put(client, matrix(1)), put(client, matrix(2))
        run(client, ADD_IN_PLACE, [a, b])
        messages, called = [], threading.Event()
        a.ready().on_ready(lambda message: (messages.append(message), called.set()))
        assert called.wait(timeout=30)
        assert "donated buffer" in messages[0]
