"""A transformer that AMD Quark's own quantizer wrote: the same bits here as in its library, node by node."""
import collections
import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support import quark_library
from support.executing import Executor
from support.made_encoder import TOKENS, WIDTH, encoder
from support.tree import ROOT

pytestmark = pytest.mark.quark_quantizer
SEED = int(os.environ.get("ANYBIT_SEED", np.random.SeedSequence().entropy % 2**32))
PYTHON = ROOT / "build" / "quark-quantizer" / "bin" / "python"
OPERATORS = {"mx": "MXQuantizeDequantize", "bfp": "BFPQuantizeDequantize"}
SENTENCES = 16


def mx(element, block):
    return {"format": "MXFixNeuron", "type": "QMX",
            "options": {"MXAttributes": {"element_dtype": element, "axis": 1, "block_size": block, "rounding_mode": 2}}}


def bfp(method, width, block):
    return {"format": "BFPFixNeuron", "type": "QBFP",
            "options": {"BFPAttributes": {"bfp_method": method, "axis": 1, "bit_width": width, "block_size": block, "rounding_mode": 2}}}


JOBS = {"mx int8": mx("int8", 8), "mx fp8_e4m3": mx("fp8_e4m3", 32), "mx fp6_e3m2": mx("fp6_e3m2", 32), "mx fp4_e2m1": mx("fp4_e2m1", 32),
        "bfp 16": bfp("to_bfp", 16, 8), "bfp prime 13": bfp("to_bfp_prime", 13, 16)}


@pytest.fixture(scope="module")
def tokens():
    print(f"ANYBIT_SEED={SEED}")
    return np.float32(np.random.default_rng(SEED).standard_normal((SENTENCES, TOKENS, WIDTH)))


@pytest.fixture(scope="module")
def written(tokens, tmp_path_factory):
    """The file of each job, by Quark."""
    folder = tmp_path_factory.mktemp("quark")
    onnx.save(encoder(SEED), folder / "encoder.onnx")
    np.savez(folder / "inputs.npz", tokens=tokens)
    jobs = {name: job | {"output": str(folder / f"{name}.onnx")} for name, job in JOBS.items()}
    (folder / "jobs.json").write_text(json.dumps(list(jobs.values())), encoding="utf-8")
    done = subprocess.run([PYTHON, ROOT / "tests/support/quark_quantizer.py", "encoder.onnx", "inputs.npz", "jobs.json"], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: pathlib.Path(job["output"]) for name, job in jobs.items()}


def values_in_their_library(model, tokens):
    """Every value of the graph, by name."""
    shown = onnx.ModelProto.FromString(model.SerializeToString())
    names = list(dict.fromkeys(name for node in shown.graph.node for name in node.output))
    del shown.graph.output[:]
    shown.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    made = quark_library.session(shown, optimized=False).run(names, {"tokens": tokens})
    return {one.name: numpy_helper.to_array(one) for one in model.graph.initializer} | {"tokens": tokens} | dict(zip(names, made))


def alone(node, model, inputs, output):
    """The node's result here, on these inputs."""
    ports = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for name, x in inputs.items()]
    graph = helper.make_graph([node], "one", ports, [helper.make_tensor_value_info(node.output[0], 1, output.shape)])
    one = helper.make_model(graph, ir_version=8, opset_imports=model.opset_import)
    [made] = Executor(one.SerializeToString(), threads=1).run({name: np.asarray(x, order="C") for name, x in inputs.items()})
    return made


@pytest.mark.parametrize("name", JOBS)
def test_every_node_of_a_file_by_quark_gives_their_bits(written, tokens, name):
    model, operator = onnx.load(written[name]), OPERATORS[name.split()[0]]
    theirs = values_in_their_library(model, tokens)
    nodes, values = collections.Counter(), collections.Counter()
    for node in model.graph.node:
        wanted = theirs[node.output[0]]
        made = alone(node, model, {one: theirs[one] for one in node.input}, wanted)
        if node.op_type == operator:
            np.testing.assert_array_equal(made.view(np.uint32), wanted.view(np.uint32), err_msg=node.name)
        else:
            np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-5, err_msg=node.name)
        kind = "quantizing" if node.op_type == operator else "other"
        nodes[kind] += 1
        values[kind] += made.size
    print(f"{name}: {nodes['quantizing']} operators by Quark, {values['quantizing']} values, none differs; "
          f"{nodes['other']} other nodes")
    assert nodes["quantizing"] == 108


@pytest.mark.parametrize("name", JOBS)
def test_a_file_by_quark_gives_their_result(written, tokens, name):
    """The last bit of a float operator may decide a rounding, which then changes the results of that sentence."""
    [ours] = Executor(written[name].read_bytes()).run({"tokens": tokens})
    [theirs] = quark_library.session(written[name], optimized=False).run(None, {"tokens": tokens})
    agreeing = np.isclose(ours, theirs, rtol=1e-5, atol=1e-5).all(axis=(1, 2)).sum()
    distance = np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)
    print(f"{name}: {agreeing} of {SENTENCES} sentences agree; {np.mean(ours == theirs):.2%} of the outputs are equal; distance {distance:.1e}")
    assert agreeing >= SENTENCES - 2 and distance < 0.1
