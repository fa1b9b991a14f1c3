"""ONNX models as torch.onnx.export(…, dynamo=True) writes them: the modules of a node are in its metadata alone."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MODULE = "models"  # where the classes of the modules are defined


def noted(node, *modules):
    """The node with its modules, outermost first: (path, class)."""
    scopes = ["", *(path for path, _ in modules), node.name.removeprefix("node_")]
    classes = [f"{MODULE}.Net", *(name if "." in name else f"{MODULE}.{name}" for _, name in modules), f"aten.{node.op_type}"]
    node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=repr(scopes))
    node.metadata_props.add(key="pkg.torch.onnx.class_hierarchy", value=repr(classes))
    return node


class Writer:
    """Writes nodes in order; each has one result, and names as the exporter counts them."""

    def __init__(self, seed=0, prefix=""):
        self.prefix = prefix
        self.nodes, self.initializers, self.random = [], [], np.random.default_rng(seed)

    def node(self, op, inputs, modules=(), **attributes):
        name = f"{self.prefix}{op.lower()}_{len(self.nodes)}"
        self.nodes.append(noted(helper.make_node(op, inputs, [name], name=f"node_{name}", **attributes), *modules))
        return name

    def weight(self, name, *shape):
        values = self.random.normal(size=shape) / np.sqrt(np.prod(shape[1:]) or 1)
        self.initializers.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def conv(self, value, path, modules, channels=4, inputs=4):
        weight = self.weight(f"{path}.weight", channels, inputs, 3, 3)
        bias = self.weight(f"{path}.bias", channels)
        return self.node("Conv", [value, weight, bias], (*modules, (path, "torch.nn.modules.conv.Conv2d")), pads=[1] * 4)

    def block(self, value, path, modules, **sizes):
        """The class Sub: a convolution and Relu, in a module with an Add of a constant."""
        modules = (*modules, (path, "Sub"))
        value = self.node("Relu", [self.conv(value, f"{path}.conv", modules, **sizes)], modules)
        return self.node("Add", [value, self.weight(f"{path}.shift", 1)], modules)

    def linear(self, value, path, modules=(), outputs=3, inputs=4):
        weight, bias = self.weight(f"{path}.weight", outputs, inputs), self.weight(f"{path}.bias", outputs)
        return self.node("Gemm", [value, weight, bias], (*modules, (path, "torch.nn.modules.linear.Linear")), transB=1)

    def graph(self, name, inputs, outputs):
        return helper.make_graph(self.nodes, name, inputs, outputs, self.initializers)

    def model(self, inputs, outputs):
        model = helper.make_model(self.graph("main_graph", inputs, outputs), ir_version=10,
                                  opset_imports=[helper.make_opsetid("", 20)], producer_name="pytorch")
        onnx.checker.check_model(model, full_check=True)
        return model


def value(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def net():
    """Net(blocks=Blocks(first=Sub, sub=Sub), last=Sub, head=Linear) on images [batch, 1, 8, 8]."""
    writer = Writer()
    blocks = (("blocks", "Blocks"),)
    result = writer.block("x", "blocks.first", blocks, inputs=1)
    result = writer.block(result, "blocks.sub", blocks)
    result = writer.block(result, "last", ())
    result = writer.node("GlobalAveragePool", [result])
    result = writer.node("Flatten", [result])
    result = writer.linear(result, "head")
    return writer.model([value("x", "batch", 1, 8, 8)], [value(result, "batch", 3)])


def conditional():
    """Two Linear modules as the branches of torch.cond, chosen by the sign of the input's sum."""
    writer = Writer()
    branches = []
    for path in ("positive", "negative"):  # then, else
        branch = Writer(seed=len(branches) + 1, prefix=f"{path}_")
        result = branch.linear("x", path, outputs=4)
        branches.append(branch.graph(path, [], [value(result, 1, 4)]))
    total = writer.node("ReduceSum", ["x"], keepdims=0)
    writer.initializers.append(numpy_helper.from_array(np.float32(0), "zero"))
    test = writer.node("Greater", [total, "zero"])
    result = writer.node("If", [test], then_branch=branches[0], else_branch=branches[1])
    return writer.model([value("x", 1, 4)], [value(result, 1, 4)])
