"""The views of the report page beside the network: sweeps, sensitivity, several runs, the choice of an output, colours."""

import colorsys
import json
import os
import pty
import re
import subprocess

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model
from support.reports import ROOT, Browser, data_of

THRESHOLDS = [10, 20, 30, 40]  # dB, between the colours of errors


@pytest.fixture(scope="module")
def browse():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def run(anybit, tmp_path_factory):
    """Reports of a model with two outputs by two recipes."""
    folder, rng = tmp_path_factory.mktemp("runs"), np.random.default_rng(5)
    node = lambda op, name, x, w=None: helper.make_node(op, [x, w] if w else [x], [f"{name}.out"], name=name)
    nodes = [node("MatMul", "stem/a", "x", "wa"), node("MatMul", "left/b", "stem/a.out", "wb"), node("Relu", "left/relu", "left/b.out"),
             node("MatMul", "right/c", "stem/a.out", "wc")]
    weights = [numpy_helper.from_array(rng.normal(0, 0.3, (16, 16)).astype(np.float32), name) for name in ("wa", "wb", "wc")]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 16]) for name in ("x", "left/relu.out", "right/c.out")]
    graph = helper.make_graph(nodes, "two", ports[:1], ports[1:], weights)
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "two.onnx")
    np.save(folder / "x.npy", rng.standard_normal((32, 16)).astype(np.float32))
    pages = {}
    for recipe in ("int8", "int8x4", "int16x8"):
        pages[recipe] = folder / f"{recipe}.html"
        anybit("quantize", folder / "two.onnx", "-o", folder / f"{recipe}.onnx", "--recipe", recipe, "--calib", folder / "x.npy",
               "--report", pages[recipe])
    return pages


def with_data(page, path, **more):
    """A copy of the page with more data."""
    text, data = page.read_text(), {**data_of(page), **more}
    begin = text.index('type="application/json">') + len('type="application/json">')
    path.write_text(text[:begin] + json.dumps(data).replace("<", "\\u003c") + text[text.index("</script>", begin):])
    return path


def test_bars_are_as_long_as_the_noise_that_a_layer_adds(browse, run):
    _, bars = browse(run["int8x4"], {"do": "tab", "name": "layers"}, {"do": "bars", "selector": ".layer .bars i"})
    noises, widths = [bar["noise"] for bar in bars], [bar["width"] for bar in bars]
    assert noises == sorted(noises, reverse=True) and noises[0] > 1e-4
    for noise, width in zip(noises, widths):
        assert width == pytest.approx(widths[0] * noise / noises[0], abs=max(1.5, 0.006 * widths[0]))
    # The first layer's noise is that of its own weights and input grid: what comes in is exact.
    first = next(one for one in data_of(run["int8x4"])["comparison"]["layers"] if one["name"] == "stem/a.out")
    assert any(noise == pytest.approx(10 ** (-first["sqnr_db"] / 10), rel=1e-6) for noise in noises)


def test_any_number_of_reports_stands_side_by_side(browse, run):
    *_, rows, swatches = browse(run["int8"], {"do": "tab", "name": "runs"}, {"do": "open", "file": str(run["int8x4"])},
                                {"do": "open", "file": str(run["int16x8"])}, {"do": "rows", "selector": "table.runs thead th"},
                                {"do": "rows", "selector": "table.runs .swatch"})
    assert [row.split("×")[0].strip() for row in rows[1:]] == ["int8", "int8x4", "int16x8"] and len(swatches) == 3
    *_, legend, bars = browse(run["int8"], {"do": "tab", "name": "runs"}, {"do": "open", "file": str(run["int8x4"])},
                              {"do": "open", "file": str(run["int16x8"])}, {"do": "tab", "name": "layers"},
                              {"do": "rows", "selector": "[aria-label=Runs] li"}, {"do": "rows", "selector": "#layers-0 .bars i"})
    assert legend == ["int8", "int8x4", "int16x8"] and len(bars) == 3


def test_the_choice_of_an_output_reduces_the_layers_to_those_that_lead_to_it(browse, run):
    _, everything, _, chosen, _, parts = browse(
        run["int8"], {"do": "tab", "name": "layers"}, {"do": "rows", "selector": ".layer .name"}, {"do": "choose", "selector": "#output", "value": "right/c.out"},
        {"do": "rows", "selector": "#panel .row .name"}, {"do": "tab", "name": "outputs"}, {"do": "rows", "selector": ".outputs tbody th"})
    assert set(chosen) == {"stem/a.out", "right/c.out"} < set(everything)
    assert set(parts) == {"right/c.out"}


def test_a_state_is_named_and_not_judged(browse, run, tmp_path):
    part = {"output": "left/relu.out", "kind": "values", "level": "ok", "reason": "left/relu.out: 40.0 dB", "count": 16, "sqnr_db": 40.0, "cosine": 1.0}
    state = {**part, "output": "right/c.out", "kind": "state", "level": "unknown", "reason": "right/c.out (state): -3.0 dB", "sqnr_db": -3.0}
    verdict = {"level": "ok", "reason": "all outputs are close, the least left/relu.out: 40.0 dB"}
    one = with_data(run["int8"], tmp_path / "one.html", verdict={**verdict, "parts": [part, state]})
    banner, options, _, table = browse(one, {"do": "rows", "selector": ".good-still"}, {"do": "rows", "selector": "#output option"},
                                       {"do": "tab", "name": "outputs"}, {"do": "rows", "selector": ".parts tbody tr"})
    assert "1 state is not judged" in banner[0] and "are not ok" not in banner[0]
    assert options == ["all 2", "left/relu.out", "right/c.out (state, not judged)"]
    assert [row.split("\t")[2:5] for row in table] == [["values", "ok", "40.0 dB"], ["state", "not judged", "−3.0 dB"]]
    halves = [{**part, "channels": [i, i], "axis": 1, "reason": f"half {i}"} for i in (0, 1)]
    two = with_data(run["int8"], tmp_path / "two.html", verdict={**verdict, "parts": [*halves, state, {**state, "channels": [0, 3]}, {**state, "output": "cell"}]})
    banner, = browse(two, {"do": "rows", "selector": ".good-still"})
    assert "all 2 parts of the outputs are ok" in banner[0] and "2 states are not judged" in banner[0]


def test_measured_sensitivity_names_the_layers_to_blame(browse, run, tmp_path):
    page = with_data(run["int8x4"], tmp_path / "s.html", sensitivity=[
        {"node": "right/c", "alone_quantized_sqnr_db": 12.5, "alone_float_sqnr_db": 31.0, "harm": 1.78},
        {"node": "stem/a", "alone_quantized_sqnr_db": 30.25, "alone_float_sqnr_db": 15.0, "harm": 0.05}], verdict={
        "level": "broken", "reason": "right/c.out: 3.1 dB", "recipe": "int8", "parts": []})
    blamed, _, _, details, _, recipe = browse(
        page, {"do": "rows", "selector": ".blame li"}, {"do": "click", "selector": ".blame li button"}, {"do": "wait", "ms": 100}, "details",
        {"do": "click", "selector": ".next p:last-child button"}, {"do": "rows", "selector": "#recipe-text"})
    assert blamed == ["right/c MatMul, harm 1.8", "stem/a MatMul, harm 0.05"]
    assert "12.5 dB" in details["text"] and "31.0 dB" in details["text"]
    assert '"right/c": float' in recipe[0]


def test_a_sweep_has_a_plot_of_size_and_accuracy_and_marks_the_best(browse, run, tmp_path):
    rows = [{"recipe": "int8", "bytes": 1000, "level": "degraded", "sqnr_db": 20.0, "milliseconds": 2.0, "reason": "y: 20 dB"},
            {"recipe": "w8", "bytes": 1100, "level": "ok", "sqnr_db": 40.0, "milliseconds": 4.0},
            {"recipe": "int16", "bytes": 2000, "level": "ok", "sqnr_db": 39.0, "milliseconds": 3.0},
            {"recipe": "w2", "bytes": 500, "level": "broken", "sqnr_db": -1.5, "milliseconds": 4.5},
            {"recipe": "nnpa", "failed": "the target has no Relu"}]
    page = with_data(run["int8"], tmp_path / "sweep.html", sweep=rows)
    dots, best, table, _, by_time, ticks = browse(
        page, {"do": "rows", "selector": ".pareto .dot text"}, {"do": "rows", "selector": "tr.best th"}, {"do": "rows", "selector": ".sweep tbody tr"},
        {"do": "click", "selector": ".sweep .choices button:nth-of-type(2)"}, {"do": "rows", "selector": "tr.best th"}, {"do": "rows", "selector": ".pareto .tick"})
    assert sorted(dots) == ["int16", "int8", "w2", "w8"]
    assert [one.split()[0] for one in best] == ["w2", "int8", "w8"]
    assert [one.split()[0] for one in by_time] == ["int8", "w8", "int16"]
    assert "−1.5 dB" in table[0] and "failed" in table[-1] and "no Relu" in table[-1]
    assert not any("-" in tick for tick in ticks)


def test_training_has_its_curves(browse, run, tmp_path):
    """The loss and the agreement by step, and both on samples that do not change; no tab where nothing was trained."""
    curve = [{"step": k, "loss": 1 / k, "agreement": 1 - 0.5 / k} for k in range(1, 41)]
    training = {"trained": True, "loss": "logits: kl", "augment": "shift,flip", "steps": 40, "batch": 64, "seconds": 3.2, "restarts": 0,
                "loss_before": 0.5, "loss_after": 0.0123, "agreement_before": 0.71, "agreement_after": 0.985, "curve": curve}
    page = with_data(run["int8"], tmp_path / "training.html", training=training)
    _, cells, plots = browse(page, {"do": "tab", "name": "training"}, {"do": "rows", "selector": ".training td"},
                             {"do": "rows", "selector": ".training .uplot canvas"})
    assert cells == ["0.5", "0.0123", "71.00 %", "98.50 %"]
    assert len(plots) == 2
    assert browse(run["int8"], {"do": "rows", "selector": "#tab-training"}) == [[]]


def test_page_notebook_and_terminal_colour_errors_by_one_scale():
    style = (ROOT / "web/src/style.css").read_text()
    page = re.findall(r"--error-\d: (#\w{6});", style[:style.index("[data-theme")])
    steps = [int(one) for one in re.findall(r"below: (\d+),", (ROOT / "web/src/colors.ts").read_text())]
    notebook = eval(re.search(r"ERROR_SCALE = (.*)", (ROOT / "python/anybit/_html.py").read_text())[1])
    header = (ROOT / "cli/error_scale.hpp").read_text()
    terminal = [(int(below), int(color)) for below, color in re.findall(r"\{(\d+), (\d+)\}", header)]
    last = int(re.search(r"kSmallErrors = (\d+)", header)[1])
    assert steps == THRESHOLDS == [below for below, _ in notebook[:-1]] == [below for below, _ in terminal]
    assert [color for _, color in notebook] == page
    for ours, color in zip(page, [color for _, color in terminal] + [last], strict=True):
        apart = abs(hue_of(tuple(int(ours[i:i + 2], 16) for i in (1, 3, 5))) - hue_of(rgb_of(color)))
        assert min(apart, 1 - apart) < 0.09, (ours, color)


def on_terminal(*words):
    """What a command prints on a terminal with colours."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdout=theirs, stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm-256color", "NO_COLOR": ""}) as program:
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:  # Linux: the other end is closed
            pass
        os.close(ours)
        assert program.wait(60) == 0
    return text.decode()


def test_the_terminal_prints_sqnr_in_those_colours(tool, run):
    folder = run["int8"].parent
    text = on_terminal(tool("anybit"), "compare", folder / "two.onnx", folder / "int8x4.onnx", "--data", folder / "x.npy")
    scale = [(int(below), int(color)) for below, color in re.findall(r"\{(\d+), (\d+)\}", (ROOT / "cli/error_scale.hpp").read_text())]
    found = re.findall(r"\x1b\[38;5;(\d+)m *(-?[\d.]+)", text)
    assert len(found) >= 3
    for color, sqnr in found:
        assert int(color) == next((one for below, one in scale if float(sqnr) < below), 32), (color, sqnr)


SPECS = ["int8 asym, int8 sym channel", "int16 sym, int8 sym", "int8 asym, int4 sym block 32", "uint4 asym", "float16", "bfloat16, bfloat16",
         "mxfp6_e3m2", "mxfp4, mxfp8", "float8e4m3fn, float8e4m3fn", "ternary", "binary, int8", "fixed8_4, uint", "float32", "int8, float32", "log2"]


def page_families(cases):
    """By the page's own code: the style sheet's name for each pair of specs and whether data stay in float."""
    program = """
        import { transformSync } from "esbuild";
        import { readFileSync } from "node:fs";
        const { code } = transformSync(readFileSync("src/formats.ts", "utf8"), { loader: "ts" });
        const { formatColor } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
        const words = (specs) => specs.split(",").map((one) => one.trim().split(" ")[0] ?? "");
        console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(([specs, only]) => formatColor(words(specs), only))));"""
    done = subprocess.run(["node", "--input-type=module", "-e", program], cwd=ROOT / "web", input=json.dumps(cases), capture_output=True, text=True,
                          check=True, timeout=60)
    return [one.removeprefix("--format-").replace("--plain", "") for one in json.loads(done.stdout)]


def terminal_colors():
    header = (ROOT / "cli/format_colors.hpp").read_text()
    return {family: int(color) for family, color in re.findall(r'\{"(\w+)", (\d+)\}', header)}


def test_page_notebook_and_terminal_have_one_colour_per_family_of_formats():
    from anybit._format_colors import FORMAT_COLORS
    style = (ROOT / "web/src/style.css").read_text()
    page = dict(re.findall(r"--format-(\w+): (#\w{6});", style[:style.index("[data-theme")]))
    assert page == FORMAT_COLORS and page.keys() == terminal_colors().keys() and len(set(terminal_colors().values())) == len(page)
    for family, color in terminal_colors().items():
        apart = abs(hue_of(tuple(int(page[family][i:i + 2], 16) for i in (1, 3, 5))) - hue_of(rgb_of(color)))
        assert min(apart, 1 - apart) < 0.05, (family, color)


def test_the_notebook_and_the_terminal_find_the_families_of_the_page(tool):
    import anybit
    from anybit._format_colors import FORMAT_COLORS, format_color
    cases = [(specs, only) for specs in [*SPECS, *anybit.formats] for only in (False, True)]
    families = page_families(cases)
    assert set(families) == {"", *FORMAT_COLORS}
    assert [format_color(*one) for one in cases] == [FORMAT_COLORS.get(family, "") for family in families]
    listed = re.findall(r"\n  (?:\x1b\[38;5;(\d+)m)?(\w+) *(?:\x1b\[0m)? +[\d.]+  ", on_terminal(tool("anybit"), "formats").replace("\r", ""))
    assert len(listed) > 20
    by_name = {specs: family for (specs, only), family in zip(cases, families) if not only}
    for color, name in listed:
        assert int(color or 0) == terminal_colors().get(by_name[name], 0), (name, color, by_name[name])


def test_reports_of_nodes_have_those_colours(tool, run):
    import anybit
    from anybit._format_colors import format_color
    folder = run["int8"].parent
    for recipe in ("w4", "int16x8"):
        report = anybit.quantize(folder / "two.onnx", recipe, folder / "x.npy").report
        cases = sorted({(one.what, one.outcome == "weights only") for one in report.nodes if one.what})
        text = on_terminal(tool("anybit"), "quantize", folder / "two.onnx", "-o", folder / "t.onnx", "--recipe", recipe, "--calib", folder / "x.npy", "-v")
        for (what, only), family in zip(cases, page_families(cases), strict=True):
            assert f"\x1b[38;5;{terminal_colors()[family]}m{what}" in text, (what, family)
            assert f'color:{format_color(what, only)}">{what}' in report._repr_html_(), what
    colors = re.findall(r"\x1b\[38;5;(\d+)m(u?int\d+)", on_terminal(tool("anybit"), "inspect", folder / "int16x8.onnx"))
    names = [name for _, name in colors]
    assert {"int8", "uint16"} <= {*names} or {"int8", "int16"} <= {*names}
    assert [int(color) for color, _ in colors] == [terminal_colors()[family] for family in page_families([(name, False) for name in names])]


def rgb_of(color):
    """The colour cube of a terminal's 256 colours."""
    levels = (0, 95, 135, 175, 215, 255)
    return tuple(levels[(color - 16) // by % 6] for by in (36, 6, 1))


def hue_of(rgb):
    return colorsys.rgb_to_hsv(*(one / 255 for one in rgb))[0]


def test_a_format_has_the_same_colour_in_every_report(browse, run):
    colors = []
    for recipe in ("int8", "int8x4", "int16x8"):
        _, legend = browse(run[recipe], {"do": "click", "selector": "[aria-label='Colour by'] button:has-text('Format')"}, "legend")
        colors.append(legend)
    assert colors[0]["int8"] != colors[1]["int8 × int4"] != colors[2]["int16 × int8"] != colors[0]["int8"]
    assert colors[0]["int8"] == colors[0]["tile"]["int8"] == colors[2]["tile"]["int8"]
