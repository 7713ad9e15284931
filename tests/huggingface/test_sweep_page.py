"""The page of results in a real browser: it opens from disk, sorts, filters, shows details."""

import shutil

import pytest

from torch_neuronx.sweep import page

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


def record(number, checks, failures=(), **more):
    return {
        "name": f"transformers/family{number}/Model{number:04}",
        "library": "transformers" if number % 3 else "timm",
        "family": f"family{number}",
        "model": f"Model{number:04}",
        "tasks": ["CAUSAL_LM"] if number % 2 else [],
        "at": "2026-01-01T00:00:00+00:00",
        "checks": checks,
        "failures": list(failures),
        "seconds": {"forward": number / 1000, "total": 5.0},
        "parameters": 1000 + number,
        "memory": number << 10,
        **more,
    }


PASSED = {"load": "passed", "forward": "passed", "compile": "passed"}
FAILURE = {
    "check": "forward",
    "cause": "backend",
    "kind": "NotImplementedError",
    "message": 'has no <program> & "kernel"</script>',
    "op": "aten::fold_back",
    "line": "transformers/models/x.py:12 y = fold(x)",
    "tail": "Traceback (most recent call last):\n  <module>",
}
RECORDS = [
    record(0, {**PASSED, "forward": "failed"}, [FAILURE]),
    record(1, {**PASSED, "compile": "wrong"}, [{**FAILURE, "check": "compile", "op": ""}]),
    *(record(number, PASSED) for number in range(2, 1500)),
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "sweep.html"
    file.write_text(page.html(RECORDS, "1 January"))
    return file.as_uri()


@pytest.fixture
def tab(browser, address):
    """The page, without a network; it fails the test where its script does."""
    context = browser.new_context(offline=True)
    tab = context.new_page()
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("request", lambda request: request.url.startswith("file:") or errors.append(request.url))
    tab.goto(address)
    yield tab
    context.close()
    assert not errors


def names(tab):
    return tab.locator("#models button.name").all_inner_texts()


def shown(tab):
    return tab.locator("#count").inner_text()


def test_all_models_are_there_and_totals_on_top(tab):
    assert shown(tab) == "1500 of 1500 models"
    assert "text-generation architectures" in tab.locator("#totals").inner_text()
    took = tab.evaluate(
        "() => { const t = performance.now(); show(); return performance.now() - t }"
    )
    assert took < 2000  # a budget for slow machines: 1,500 rows take some 50 ms


def test_sorting(tab):
    header = tab.get_by_role("button", name="First call")
    header.click()
    assert names(tab)[0] == "Model0000"
    header.click()
    assert names(tab)[0] == "Model1499"
    column = tab.locator("#models thead th", has_text="First call")
    assert column.get_attribute("aria-sort") == "descending"
    tab.get_by_role("button", name="Compiled").click()
    assert names(tab)[0] == "Model0001"  # what is wrong comes first


def test_filters_and_search(tab):
    tab.select_option("#result", "eager")
    assert names(tab) == ["Model0000"]
    tab.select_option("#result", "wrong")
    assert names(tab) == ["Model0001"]
    tab.select_option("#result", "")
    tab.select_option("#library", "timm")
    assert shown(tab) == "500 of 1500 models"
    tab.fill("#search", "FOLD_back forward")
    assert names(tab) == ["Model0000"]
    tab.fill("#search", "nothing like this")
    assert "No model" in tab.locator("#models").inner_text()


def test_details_open_by_keyboard(tab):
    button = tab.locator("#models button.name").first
    button.focus()
    tab.keyboard.press("Enter")
    detail = tab.locator("tr.detail")
    text = detail.inner_text()
    assert FAILURE["op"] in text and FAILURE["line"] in text and FAILURE["message"] in text
    assert button.get_attribute("aria-expanded") == "true"
    tab.keyboard.press("Enter")
    assert detail.count() == 0


def test_it_fits_a_phone(browser, address):
    context = browser.new_context(viewport={"width": 360, "height": 740}, offline=True)
    tab = context.new_page()
    tab.goto(address)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    assert tab.get_by_role("button", name="Eager").is_visible()
    assert not tab.get_by_role("button", name="Peak memory").is_visible()
    context.close()
