"""The network of the report page: modules, blocks, panels, and the recipe that they put together."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model
from support.reports import CLASSIFIER, ROOT, Browser, data_of, long_model

HEIGHT, WIDTH = 12, 10


@pytest.fixture(scope="module")
def browse():
    browser = Browser()
    yield browser
    browser.close()


class Net:
    """Modules with convolutions and SiLU, then a LayerNorm of primitives: names as an exporter writes them."""

    def __init__(self):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(3)

    def node(self, op, module, *inputs, **attributes):
        out = f"{module}/{op}_{len(self.nodes)}_out"
        self.nodes.append(helper.make_node(op, list(inputs), [out], name=f"{module}/{op}_{len(self.nodes)}", **attributes))
        return out

    def constant(self, name, values):
        self.weights.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def conv(self, module, x, channels, kernel=3):
        shape = (channels, 4 if self.weights else 3, kernel, kernel)
        weight = self.constant(f"{module}.weight{len(self.weights)}", self.rng.normal(0, 0.3, shape))
        return self.node("Conv", f"{module}/conv", x, weight, pads=[kernel // 2] * 4)

    def silu(self, module, x):
        return self.node("Mul", f"{module}/act", x, self.node("Sigmoid", f"{module}/act", x))

    def layer_norm(self, module, x):
        c = lambda name, values: self.constant(f"{module}.{name}", values)
        deviation = self.node("Sub", module, x, self.node("ReduceMean", module, x, axes=[-1]))
        square = self.node("Pow", module, deviation, c("two", 2.0))
        root = self.node("Sqrt", module, self.node("Add", module, self.node("ReduceMean", module, square, axes=[-1]), c("epsilon", 1e-5)))
        scaled = self.node("Mul", module, self.node("Div", module, deviation, root), c("gain", np.ones(WIDTH)))
        return self.node("Add", module, scaled, c("shift", np.zeros(WIDTH)))

    def save(self, path, y, shape):
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("image", [1, 3, HEIGHT, WIDTH]), (y, shape))]
        graph = helper.make_graph(self.nodes, "net", ports[:1], ports[1:], self.weights)
        save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


@pytest.fixture(scope="module")
def net(anybit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("net")
    made, x = Net(), "image"
    for module in ("/stem", "/body/first", "/body/second", "/head"):
        x = made.silu(module, made.conv(module, x, 4))
    made.save(folder / "net.onnx", made.layer_norm("/norm", x), [1, 4, HEIGHT, WIDTH])
    images = folder / "images"
    images.mkdir()
    for i in range(5):
        # A different scale per sample: the models differ most where values are smallest.
        np.save(images / f"{i}.npy", made.rng.uniform(-1, 1, (1, 3, HEIGHT, WIDTH)).astype(np.float32) * (1 + i))
    page = folder / "net.html"
    anybit("quantize", folder / "net.onnx", "-o", folder / "q.onnx", "--calib", images, "--report", page)
    return page


def test_blocks_of_primitive_operators_are_one_box(browse, net):
    closed, _, opened, frames = browse(net, {"do": "drawing"}, {"do": "click", "selector": "#close-all"}, {"do": "drawing"}, {"do": "frames"})
    everything = browse(net, {"do": "click", "selector": "#open-all"}, {"do": "drawing"}, {"do": "frames"})
    nodes = len(data_of(net)["nodes"])
    # stem, body, head, norm, the input and the output; the LayerNorm is the only content of its module.
    assert opened["boxes"] == 6 and opened["frames"] == 0 and frames == []
    assert everything[1]["boxes"] == nodes + 2 and sorted(everything[2]).count("SiLU") == 4 and "LayerNorm" in everything[2]
    assert opened["boxes"] <= closed["boxes"] <= everything[1]["boxes"]


def test_a_module_opens_and_closes_by_keyboard_and_has_a_panel(browse, net):
    answers = browse(net, {"do": "click", "selector": "#close-all"}, {"do": "search", "text": "/body/first/conv"}, {"do": "drawing"},
                     {"do": "focus", "selector": ".canvas canvas"}, {"do": "press", "key": "Enter"}, {"do": "drawing"}, "details")
    opened, closed, details = answers[2], answers[5], answers[6]
    assert opened["frames"] >= 2 and closed["frames"] == opened["frames"] - 1  # body, first
    assert details["op"] == "Conv"


def test_a_click_on_a_box_selects_a_module_and_a_double_click_opens_it(browse, net):
    answers = browse(net, {"do": "click", "selector": "#close-all"}, {"do": "clickBox", "label": "body"}, "details",
                     {"do": "clickBox", "label": "body", "double": True}, {"do": "frames"})
    assert answers[2]["op"] == "body" and answers[2]["name"] == "/body" and "2 quantized" in answers[2]["text"]
    assert answers[4] == ["body"]


def test_the_panel_of_a_node_has_what_the_model_and_the_report_say(browse, net):
    node = next(one for one in data_of(net)["nodes"] if one["op"] == "Conv" and one["name"].startswith("/head"))
    assert node["macs"] == 4 * 4 * 9 * HEIGHT * WIDTH and node["types"] == [f"float32[1, 4, {HEIGHT}, {WIDTH}]"]
    assert node["attributes"]["pads"] == "[1, 1, 1, 1]" and node["ms_before"] > 0
    text = browse(net, {"do": "search", "text": node["name"]}, "details")[1]["text"]
    for said in ("SQNR in", "SQNR out", f"{node['macs']:,}", "pads", "float32[4, 4, 3, 3]", f"float32[1, 4, {HEIGHT}, {WIDTH}]",
                 "Copy name", "Leave in float", "Wider: int16x8", "steps of", "zero at"):
        assert said in text, said
    # Its neighbour is one click away.
    _, _, jumped = browse(net, {"do": "search", "text": node["name"]}, {"do": "click", "selector": ".ports .neighbour"}, "details")
    assert jumped["op"] == "Mul"


@pytest.mark.parametrize("button, outcome", [("Leave in float", "float"), ("Wider: int16x8", "quantized")])
def test_a_layer_put_into_the_recipe_is_changed_when_the_command_runs_again(browse, anybit, net, tmp_path, button, outcome):
    name = next(one["name"] for one in data_of(net)["nodes"] if one["op"] == "Conv" and one["name"].startswith("/head"))
    *_, recipe, command = browse(net, {"do": "search", "text": name}, {"do": "click", "selector": f".actions button:has-text('{button}')"},
                                 {"do": "tab", "name": "recipe"}, {"do": "rows", "selector": "#recipe-text"},
                                 {"do": "rows", "selector": "#recipe-command"})
    (tmp_path / "mixed.yaml").write_text(recipe[0] + "\n")
    words = command[0].replace("SAMPLES", str(net.parent / "images")).replace("mixed.yaml", str(tmp_path / "mixed.yaml")).split()
    assert words[0] == "anybit"
    again = json.loads(anybit(*words[1:], "--json").stdout)
    changed = next(one for one in again["nodes"] if one["name"] == name)
    others = [one for one in again["nodes"] if one["op"] == "Conv" and one["name"] != name]
    assert changed["outcome"] == outcome and all(one["to"].startswith("int8") for one in others) and len(others) == 3
    assert changed["to"].startswith("int16") if outcome == "quantized" else changed["reason"] == "the recipe leaves it in float"


def test_a_module_put_into_the_recipe_covers_all_of_it(browse, anybit, net, tmp_path):
    *_, recipe = browse(net, {"do": "click", "selector": "#close-all"}, {"do": "clickBox", "label": "body"},
                        {"do": "click", "selector": ".actions button"}, {"do": "tab", "name": "recipe"}, {"do": "rows", "selector": "#recipe-text"})
    assert recipe[0].split("\n")[-1].strip() == '"/body": float'
    (tmp_path / "mixed.yaml").write_text(recipe[0] + "\n")
    again = json.loads(anybit("quantize", net.parent / "net.onnx", "-o", tmp_path / "q.onnx", "--recipe", tmp_path / "mixed.yaml",
                              "--calib", net.parent / "images", "--json").stdout)
    assert {one["outcome"] for one in again["nodes"] if one["name"].startswith("/body")} == {"float"}


def test_a_node_that_the_run_excluded_stays_excluded_in_the_recipe(browse, anybit, net, tmp_path):
    first, second = [one["name"] for one in data_of(net)["nodes"] if one["op"] == "Conv"][1:3]
    anybit("quantize", net.parent / "net.onnx", "-o", tmp_path / "q.onnx", "--calib", net.parent / "images", "--exclude", first,
           "--report", tmp_path / "q.html")
    *_, recipe = browse(tmp_path / "q.html", {"do": "search", "text": second}, {"do": "click", "selector": ".actions button"},
                        {"do": "tab", "name": "recipe"}, {"do": "rows", "selector": "#recipe-text"})
    assert f'"{first}": float' in recipe[0] and f'"{second}": float' in recipe[0]


def test_the_worst_samples_are_shown_as_images(browse, net):
    worst = data_of(net)["comparison"]["worst_samples"]
    assert [one["sqnr_db"] for one in worst] == sorted(one["sqnr_db"] for one in worst) and len(worst) == 5
    assert worst[0]["sample"] == 0
    image = np.load(net.parent / "images" / "0.npy")[0].transpose(1, 2, 0)
    expected = np.floor((image - image.min()) / (image.max() - image.min()) * 255 + 0.5)
    _, labels, pixels = browse(net, {"do": "tab", "name": "outputs"}, {"do": "rows", "selector": ".samples li"}, {"do": "pixels", "selector": ".thumbnail"})
    assert labels[0].startswith("sample 0") and (pixels["width"], pixels["height"]) == (WIDTH, HEIGHT)
    shown = np.array(pixels["data"]).reshape(HEIGHT, WIDTH, 4)[..., :3]
    assert np.abs(shown - expected).max() <= 1


def test_on_a_phone_labels_are_readable_tabs_fit_and_the_panel_is_a_sheet(browse, net):
    zoom, tabs, wide = browse(net, {"do": "drawing"}, {"do": "boxes", "selector": ".tabs button"}, "overflow", width=390, height=844)
    assert zoom["zoom"] >= 0.8 and wide == 0
    assert len({round(tab["top"]) for tab in tabs}) == 1 and all(tab["right"] <= 390 for tab in tabs)
    _, [sheet], seen = browse(net, {"do": "search", "text": "/head/conv"}, {"do": "boxes", "selector": ".details"},
                              {"do": "inView", "selector": ".details h2"}, width=390, height=844)
    assert seen and (sheet["left"], sheet["right"], sheet["bottom"]) == (0, 390, 844) and sheet["top"] > 300


def test_a_deep_network_uses_the_width(browse, anybit, tmp_path):
    made, x = Net(), "image"
    for i in range(40):
        x = made.node("Relu", f"/stage{i}", made.conv(f"/stage{i}", x, 4, kernel=1))
    made.save(tmp_path / "deep.onnx", x, [1, 4, HEIGHT, WIDTH])
    anybit("quantize", tmp_path / "deep.onnx", "-o", tmp_path / "q.onnx", "--recipe", "w8", "--report", tmp_path / "deep.html")
    [drawing] = browse(tmp_path / "deep.html", {"do": "drawing"}, width=1400, height=900)
    assert 1 < drawing["width"] / drawing["height"] < 5


def test_names_of_thousands_of_levels_and_a_wide_network_are_drawn(browse, anybit, tmp_path):
    made = Net()
    x = made.node("Relu", "/a" * 5000, "image")
    wide = [made.node("Relu", f"/wide{i}", x) for i in range(1500)]
    made.save(tmp_path / "odd.onnx", made.conv("/end", made.node("Sum", "/sum", *wide), 4), [1, 4, HEIGHT, WIDTH])
    page = tmp_path / "odd.html"
    anybit("quantize", tmp_path / "odd.onnx", "-o", tmp_path / "q.onnx", "--recipe", "w8", "--report", page)
    drawing, drawn = browse(page, {"do": "drawing"}, "drawn")
    assert 0 < drawing["boxes"] <= 200 and drawn < 6000


@pytest.mark.parametrize("model", ["net", "branches", "classifier"])
def test_edges_pass_around_boxes_and_boxes_do_not_overlap(anybit, net, tmp_path, model):
    page = net
    if model != "net":
        path = CLASSIFIER if model == "classifier" else tmp_path / "long.onnx"
        if model == "branches":
            long_model(path, 700)
        page = tmp_path / "page.html"
        anybit("quantize", path, "-o", tmp_path / "q.onnx", "--recipe", "w8", "--report", page)
    (tmp_path / "data.json").write_text(json.dumps(data_of(page)))
    done = subprocess.run(["node", ROOT / "tests" / "web" / "drawing.mjs", tmp_path / "data.json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    drawings = json.loads(done.stdout)
    assert [(one["overlaps"], one["through"]) for one in drawings] == [(0, 0)] * 3
    assert drawings[0]["boxes"] < drawings[2]["boxes"] >= len(data_of(page)["nodes"])


def test_a_page_is_at_most_twice_its_data_once_these_are_larger_than_the_program(anybit, net, tmp_path):
    made, x = Net(), "image"
    for i in range(600):
        x = made.silu(f"/stage{i}", made.conv(f"/stage{i}", x, 4, kernel=1))
    made.save(tmp_path / "large.onnx", x, [1, 4, HEIGHT, WIDTH])
    anybit("quantize", tmp_path / "large.onnx", "-o", tmp_path / "q.onnx", "--calib", net.parent / "images", "--samples", "1",
           "--report", tmp_path / "large.html")
    page = (tmp_path / "large.html").read_text()
    data = re.search(r'<script id="anybit-report" type="application/json">([^<]*)</script>', page)[1]
    assert len(data_of(tmp_path / "large.html")["nodes"]) == 1800 and len(page) <= 2 * len(data)
    shutil.rmtree(tmp_path)
