"""The first signal stops, all others are harmless."""

import signal

import pytest

from holamem.supervisor.signals import StopRequested, StopSignals


@pytest.fixture
def signals() -> StopSignals:
    return StopSignals()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_raises_once_and_the_second_does_nothing(
    signals: StopSignals, number: signal.Signals
) -> None:
    with signals.installed():
        with pytest.raises(StopRequested):
            signal.raise_signal(number)
        signal.raise_signal(number)


def test_a_held_step_is_finished_before_the_stop(signals: StopSignals) -> None:
    steps = []

    def step() -> None:
        with signals.held():
            signal.raise_signal(signal.SIGTERM)
            steps.append("done")

    with signals.installed(), pytest.raises(StopRequested):
        step()
    assert steps == ["done"]


def test_nothing_interrupts_a_stop_that_is_under_way(signals: StopSignals) -> None:
    with signals.installed():
        signals.ignore()
        signal.raise_signal(signal.SIGINT)
        went_on = True
    assert went_on


def test_the_handlers_of_before_come_back(signals: StopSignals) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with signals.installed():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
