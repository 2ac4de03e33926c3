"""What holds for the whole run: its tier, that Ctrl-C reaches its children, and which servers it started."""

import gc
import importlib.util
import json
import signal

import pytest
from tests.support.services import folder_of, run_id
from tests.support.tiers import is_left_out, scale, tier

# A busy machine is no defect: examples may take what they need. The frameworks' environments draw none.
if importlib.util.find_spec("hypothesis") is not None:
    from hypothesis import HealthCheck, settings

    settings.register_profile("qwed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("qwed")


def pytest_configure() -> None:
    try:
        tier()
    except ValueError as mistake:
        raise pytest.UsageError(str(mistake)) from None
    # A shell starts its background jobs with Ctrl-C ignored, and every process below would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--repetitions", type=int, help="how often what is marked `repeated` runs")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given = metafunc.config.getoption("--repetitions")
    for mark in metafunc.definition.iter_markers("repeated"):
        if (times := given or scale(ci=1, **mark.kwargs)) > 1:
            metafunc.fixturenames.append("_time")
            metafunc.parametrize("_time", range(times))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept, left_out = [], []
    for item in items:
        (left_out if is_left_out({mark.name for mark in item.iter_markers()}) else kept).append(item)
    items[:] = kept
    if left_out:
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    # Eighteen thousand tests live until the end: the collector need not visit them each time.
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    note = folder_of(run_id()) / "note.json"
    if note.exists():
        terminalreporter.write_line(f"started for this run: {json.loads(note.read_text())['says']}")
