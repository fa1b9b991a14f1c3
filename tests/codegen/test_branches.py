"""c-gen: an If with branches that are invalid for the shapes of the generated code."""
import generating
import numpy as np
import onnx
import pytest
from generating import NotGenerated, generate
from onnx import TensorProto, helper
from test_c_gen import compiled, model_of


def choosing_model(*branches, ends=()):
    """y = one of two Reshapes of x [2, 3], selected by the input "first"; each branch is its target shape."""
    def branch(name, shape):
        target = helper.make_tensor(f"{name}_shape", TensorProto.INT64, [len(shape)], shape)
        return helper.make_graph([helper.make_node("Reshape", ["r", f"{name}_shape"], [name])], name, [],
                                 [onnx.ValueInfoProto(name=name)], [target])
    node = helper.make_node("If", ["first"], ["i"], then_branch=branch("a", branches[0]), else_branch=branch("b", branches[1]))
    before, after = ends or ([helper.make_node("Relu", ["x"], ["r"])], [helper.make_node("Relu", ["i"], ["y"])])
    model = model_of([*before, node, *after], {"x": np.zeros((2, 3), np.float32)}, {"s": np.float32(0.5), "z": np.int8(0)})
    model.graph.input.append(helper.make_tensor_value_info("first", TensorProto.BOOL, []))
    return model


@pytest.mark.parametrize("quantized", [False, True])
def test_an_invalid_branch_fails_when_it_is_selected(quantized, tmp_path):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    ends = ([helper.make_node("QuantizeLinear", ["x", "s", "z"], ["r"])], [helper.make_node("DequantizeLinear", ["i", "s", "z"], ["y"])])
    for good in (0, 1):
        shapes = [[3, 2], [3, 2]]
        shapes[1 - good] = [4, 2]
        generate(choosing_model(*shapes, ends=ends if quantized else ()), tmp_path / f"net{good}.c")
    for good, program in enumerate(compiled(["net0", "net1"], tmp_path).values()):
        made, = program.run([x, np.array(good == 0)], [np.zeros((3, 2), np.float32)])
        np.testing.assert_array_equal(made, x.reshape(3, 2))
        with pytest.raises(generating.RunFailed):
            program.run([x, np.array(good == 1)], [made])
        assert "(Reshape)" in (tmp_path / f"net{good}.h").read_text()


def test_only_invalid_branches_are_an_error(tmp_path):
    with pytest.raises(NotGenerated, match="Reshape"):
        generate(choosing_model([4, 2], [5, 2]), tmp_path / "net.c")
    with pytest.raises(NotGenerated, match="depends on values"):
        generate(choosing_model([3, 2], [1, 6]), tmp_path / "net.c")
