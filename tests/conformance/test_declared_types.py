"""Declared types and shapes against inferred ones: anybit rejects the models that ONNX Runtime rejects, names the value and its
graph, and accepts the others. Models are written in ONNX's textual syntax."""

import subprocess

import onnx
import onnx.parser
import onnxruntime
import pytest


def branches(then_output="float[2,3] a", else_output="float[2,3] b", output="float[2,3] y", inner=""):
    """An If whose branches give float[2, 3]."""
    return f"""(float[2,3] x, bool c) => ({output}) {{
        y = If (c) <then_branch = t () => ({then_output}) {inner} {{ q = Relu (x) a = Neg (q) }},
                    else_branch = e () => ({else_output}) {{ b = Neg (x) }}>
    }}"""


def loop(number="int64 i", carried="float[2,3] v", result="float[2,3] w", stacked="float[2,3] s", make="Relu (v)"):
    return f"""(float[2,3] x) => (float[2,3] y, float[3,2,3] z) {{
        n = Constant <value_int = 3> ()
        y, z = Loop (n, , x) <body = b ({number}, bool go, {carried}) => (bool on, {result}, {stacked})
            {{ on = Identity (go) w = {make} s = Neg (v) }}>
    }}"""


def scan(row="float[3] r", state="float[3] t"):
    return f"""(float[2,3] x) => (float[3] y, float[2,3] z) {{
        start = Constant <value_floats = [0.0, 0.0, 0.0]> ()
        y, z = Scan <num_scan_inputs = 1, body = b (float[3] s, {row}) => ({state}, float[3] u)
            {{ t = Add (s, r) u = Identity (t) }}> (start, x)
    }}"""


def chain(output, nodes, hints=""):
    return f"(float[2,3] x) => ({output}) {hints} {{ k = Constant <value_int = 0> () {nodes} }}"


CONSTRUCT = "s = SequenceConstruct (x)"
REFUSED = {
    "element type of a sequence": (chain("seq(int64[2,3]) s", CONSTRUCT), "value 's'"),
    "element type of a sequence inside the graph": (chain("int64 n", f"{CONSTRUCT} n = SequenceLength (s)", "<seq(int64[2,3]) s>"), "value 's'"),
    "a sequence as a tensor": (chain("float[2,3] s", CONSTRUCT), "value 's'"),
    "a tensor as a sequence": (chain("seq(float[2,3]) s", "s = Relu (x)"), "value 's'"),
    "an empty sequence": (chain("seq(float[2,3]) s", "s = SequenceEmpty <dtype = 7> ()"), "value 's'"),
    "parts of a split": (chain("seq(int64[2,3]) s", "s = SplitToSequence (x)"), "value 's'"),
    "a copied sequence": (chain("seq(int64[2,3]) t", f"{CONSTRUCT} t = Identity (s)"), "value 't'"),
    "a sequence after an insertion": (chain("seq(int64[2,3]) t", f"{CONSTRUCT} t = SequenceInsert (s, x)"), "value 't'"),
    "a sequence after an erasure": (chain("seq(int64[2,3]) t", f"{CONSTRUCT} t = SequenceErase (s)"), "value 't'"),
    "an element of a sequence": (chain("int64[2,3] t", f"{CONSTRUCT} t = SequenceAt (s, k)"), "value 't'"),
    "concatenated elements": (chain("int64[2,3] t", f"{CONSTRUCT} t = ConcatFromSequence <axis = 0> (s)"), "value 't'"),
    "an optional": (chain("optional(int64[2,3]) t", "t = Optional (x)"), "value 't'"),
    "an optional as a tensor": (chain("float[2,3] t", "t = Optional (x)"), "value 't'"),
    "the element of an optional": (chain("int64[2,3] t", "o = Optional (x) t = OptionalGetElement (o)"), "value 't'"),
    "a branch's output": (branches(then_output="int64[2,3] a"), "(If), then_branch: value 'a'"),
    "the other branch's output": (branches(else_output="int64[2,3] b"), "(If), else_branch: value 'b'"),
    "a value within a branch": (branches(inner="<int64[2,3] q>"), "(If), then_branch: value 'q'"),
    "an If": (branches(output="int64[2,3] y"), "value 'y'"),
    "a branch that is never taken": (branches(else_output="int64[2,3] b").replace("(float[2,3] x, bool c)", "(float[2,3] x)")
                             .replace("{", "{ c = Constant <value = bool {1}> ()", 1), "(If), else_branch: value 'b'"),
    "branches that differ": (branches(else_output="int64[2] b").replace("b = Neg (x)", "b = Shape (x)"),
                             "(If): output 0 is float32[2, 3] by then_branch, and int64[2] by else_branch"),
    "one branch a sequence": (branches(else_output="seq(float[2,3]) b").replace("b = Neg", "b = SequenceConstruct"),
                              "(If): output 0 is float32[2, 3] by then_branch, and seq(float32) by else_branch"),
    "the iteration number of a loop": (loop(number="int32 i"), "(Loop), body: value 'i'"),
    "a loop-carried value": (loop(carried="int64[2,3] v"), "(Loop), body: value 'v'"),
    "a loop-carried value after the iteration": (loop(result="int64[2,3] w"), "(Loop), body: value 'w'"),
    "a scan output of a loop": (loop(stacked="int64[2,3] s"), "(Loop), body: value 's'"),
    "a loop that changes the type": (loop(result="int64[2,3] w", make="Cast <to = 7> (v)"),
                                     "(Loop): loop-carried value 0 is float32[2, 3] before an iteration, and "
                                     "int64[2, 3] after it"),
    "a scan input": (scan(row="int64[3] r"), "(Scan), body: value 'r'"),
    "a scan state": (scan(state="int64[3] t"), "(Scan), body: value 't'"),
}
TAKEN = {
    "a sequence": chain("seq(float[2,3]) s", CONSTRUCT),
    "an optional": chain("optional(float[2,3]) t", "t = Optional (x)"),
    "an optional of a sequence": chain("optional(seq(float[2,3])) t", f"{CONSTRUCT} t = Optional (s)"),
    "an If": branches(),
    "an If of another rank": branches(output="float[2] y"),
    "a branch of another rank": branches(then_output="float[2] a", inner="<float[2] q>"),
    "branches of different ranks": branches(else_output="float b").replace("b = Neg", "b = ReduceSum <keepdims = 0>"),
    "a loop": loop(),
    "a loop of another rank": loop(carried="float[2] v", result="float[2] w"),
    "a scan": scan(),
}


@pytest.fixture
def load(tool, tmp_path):
    """load(text): the errors of anybit and of ONNX Runtime for a model; "" if accepted."""
    def run(text):
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {text}')
        path = tmp_path / "model.onnx"
        onnx.save(model, path)
        ours = subprocess.run([tool("anybit"), "inspect", path], capture_output=True, text=True)
        assert ours.returncode in (0, 1), ours.stderr
        theirs = ""
        try:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001 - onnxruntime has many kinds
            theirs = str(error)
        return ours.stderr if ours.returncode else "", theirs
    return run


@pytest.mark.parametrize("what", REFUSED)
def test_a_contradicting_type_is_rejected_where_it_is_declared(what, load):
    text, place = REFUSED[what]
    ours, theirs = load(text)
    assert place in ours and "hint: " in ours
    assert theirs != ""


@pytest.mark.parametrize("what", TAKEN)
def test_models_that_onnx_runtime_accepts_are_accepted(what, load):
    assert load(TAKEN[what]) == ("", "")
