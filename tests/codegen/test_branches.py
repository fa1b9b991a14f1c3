"""c-gen: an If with branches that are invalid for the shapes of the generated code."""
import numpy as np
import pytest
from onnx import helper
from support import generating
from support.generating import NotGenerated, choosing_model, compiled, generate


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
