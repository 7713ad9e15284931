"""Streams and events, and that their times are those of the device's work."""

import threading
import time

import pytest
import torch


@pytest.fixture(scope="module")
def matrix():
    return torch.full((512, 512), 1.0 / 512, device="neuron")


def launch(matrix, times=20):
    result = matrix
    for _ in range(times):
        result = result @ matrix
    return result


def test_streams_of_the_pool_have_distinct_ids():
    streams = [torch.Stream("neuron") for _ in range(32)]
    assert len({s.stream_id for s in streams} | {0}) == 33
    assert torch.neuron.Stream() != torch.neuron.Stream()
    assert torch.neuron.Stream(device=1).device == torch.device("neuron:1")


def test_stream_context_sets_stream_and_device():
    stream = torch.neuron.Stream(device=1)
    default = torch.neuron.current_stream()
    with torch.neuron.stream(stream):
        assert torch.neuron.current_stream() == torch.accelerator.current_stream() == stream
        assert torch.neuron.current_device() == 1
    assert torch.neuron.current_stream() == default == torch.neuron.default_stream()
    assert torch.neuron.current_device() == 0
    with torch.neuron.stream(None):
        assert torch.neuron.current_stream() == default
    with stream:
        assert torch.neuron.current_stream(1) == stream


def test_set_stream_is_per_thread():
    stream = torch.neuron.Stream()
    seen = []

    def other():
        torch.neuron.set_stream(stream)
        seen.append(torch.neuron.current_stream())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [stream]
    assert torch.neuron.current_stream() == torch.neuron.default_stream()


def test_a_stream_is_done_after_synchronizing(matrix):
    stream = torch.neuron.Stream()
    with torch.neuron.stream(stream):
        launch(matrix)
    stream.synchronize()
    assert stream.query()
    launch(matrix)
    torch.neuron.synchronize()
    assert torch.neuron.current_stream().query()


def test_results_are_right_across_streams(matrix):
    with torch.neuron.stream(torch.neuron.Stream()):
        product = launch(matrix)
    with torch.neuron.stream(torch.neuron.Stream()):
        result = product + 1
    torch.testing.assert_close(result.cpu(), torch.full((512, 512), 1 + 1 / 512))


def test_an_event_is_reached_after_the_work_before_it(matrix):
    event = torch.neuron.Event()
    assert event.query()  # never recorded
    launch(matrix)
    event.record()
    event.synchronize()
    assert event.query()


def test_waiting_for_an_event_holds_the_other_stream_back(matrix):
    first, second = torch.neuron.Stream(), torch.neuron.Stream()
    with torch.neuron.stream(first):
        launch(matrix)
    second.wait_stream(first)
    second.synchronize()
    assert first.query()
    with torch.neuron.stream(first):
        launch(matrix)
    second.wait_event(first.record_event())
    second.synchronize()
    assert first.query()


def test_elapsed_time_is_the_time_of_the_work(matrix):
    launch(matrix).cpu()  # compiled, and warm
    torch.neuron.synchronize()
    start, end = (torch.neuron.Event(enable_timing=True) for _ in range(2))
    begin = time.perf_counter()
    start.record()
    result = launch(matrix, times=60)
    end.record()
    result.cpu()
    wall = (time.perf_counter() - begin) * 1e3
    end.synchronize()
    assert 0.5 * wall < start.elapsed_time(end) < 1.05 * wall


def test_elapsed_time_waits_for_nothing_that_came_later(matrix):
    def times():
        torch.neuron.synchronize()
        start, end = (torch.neuron.Event(enable_timing=True) for _ in range(2))
        begin = time.perf_counter()
        start.record()
        end.record()
        launch(matrix).cpu()
        return start.elapsed_time(end), (time.perf_counter() - begin) * 1e3

    between, wall = zip(*(times() for _ in range(5)), strict=True)
    assert min(between) < 0.2 * min(wall)


def test_elapsed_time_refuses_what_it_cannot_tell():
    timed, plain = torch.neuron.Event(enable_timing=True), torch.neuron.Event()
    with pytest.raises(ValueError, match="must be recorded"):
        timed.elapsed_time(torch.neuron.Event(enable_timing=True))
    plain.record()
    timed.record()
    with pytest.raises(ValueError, match="enable_timing=True"):
        timed.elapsed_time(plain)


def test_events_are_torch_events():
    event = torch.neuron.Event(enable_timing=True)
    assert isinstance(event, torch.neuron.Event)
    assert isinstance(event, torch.Event)
    assert isinstance(torch.Event("neuron"), torch.neuron.Event)
    assert not isinstance(torch.Event("cpu"), torch.neuron.Event)
    assert torch.neuron.current_stream().record_event(event) is event
    with pytest.raises(NotImplementedError, match="cannot be shared by processes"):
        torch.neuron.Event(interprocess=True)


def test_record_stream_is_accepted(matrix):
    matrix.record_stream(torch.neuron.Stream())


def test_the_queue_of_a_long_run_is_bounded(matrix):
    event = torch.neuron.Event()
    result = matrix[:2, :2]
    for _ in range(2000):
        result = result + 1
    event.record()
    event.synchronize()
    assert torch.neuron.current_stream().query()
