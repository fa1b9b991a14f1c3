"""ai.onnx.ml: trees, linear models, labels and features, compared with ONNX Runtime."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from support.executing import Executor

ML = "ai.onnx.ml"


def model(node, inputs, outputs):
    ports = lambda pairs: [helper.make_tensor_value_info(name, kind, None) for name, kind in pairs]
    graph = helper.make_graph([node], "g", ports(inputs), ports(outputs))
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid(ML, 3), helper.make_opsetid("", 17)])


def agree(made, feeds, first=0):
    wanted = onnxruntime.InferenceSession(made.SerializeToString()).run(None, feeds)
    for one, other in list(zip(Executor(made).run(feeds), wanted))[first:]:
        if one.dtype == object:
            assert one.tolist() == other.tolist()
        else:
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def random_trees(rng, trees, depth, features, prefix, classes, negative, nan_goes=0):
    lists = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
                                 "missing_value_tracks_true")}
    votes = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    inner = 2**depth - 1
    for tree in range(trees):
        for node in range(2 * inner + 1):
            leaf = node >= inner
            mode = "LEAF" if leaf else str(rng.choice(["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"]))
            row = (tree, node, 0 if leaf else int(rng.integers(features)), mode, 0.0 if leaf else float(rng.normal()),
                   0 if leaf else 2 * node + 1, 0 if leaf else 2 * node + 2, nan_goes)
            for key, value in zip(lists, row):
                lists[key].append(value)
            for one in classes if leaf else ():
                weight = float(rng.normal() if negative else rng.uniform(0, 1 / trees))
                for key, value in zip(votes, (tree, node, one, weight)):
                    votes[key].append(value)
    return {f"nodes_{key}": value for key, value in lists.items()} | {f"{prefix}_{key}": value for key, value in votes.items()}


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("labels, voted, negative", [(3, (0, 1, 2), True), (2, (0, 1), False), (2, (1,), True),
                                                     (2, (1,), False), (2, (0,), True)])
def test_trees_classify_as_onnx_runtime_does(transform, labels, voted, negative):
    rng = np.random.default_rng(labels * 7 + len(voted) + negative)
    attributes = random_trees(rng, 5, 3, 4, "class", voted, negative)
    node = helper.make_node("TreeEnsembleClassifier", ["x"], ["y", "z"], domain=ML, post_transform=transform,
                            classlabels_strings=[f"c{i}" for i in range(labels)], **attributes)
    made = model(node, [("x", TensorProto.FLOAT)], [("y", TensorProto.STRING), ("z", TensorProto.FLOAT)])
    # With two classes and votes for both, ONNX Runtime selects the second if its score is positive; ONNX the highest.
    agree(made, {"x": rng.normal(size=(50, 4)).astype(np.float32)}, first=1 if voted == (0, 1) else 0)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("nan_goes", [0, 1])
def test_trees_regress_as_onnx_runtime_does(aggregate, nan_goes):
    rng = np.random.default_rng(3)
    attributes = random_trees(rng, 4, 3, 4, "target", (0, 1), True, nan_goes)
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=2, aggregate_function=aggregate,
                            base_values=[0.5, -1.0], **attributes)
    made = model(node, [("x", TensorProto.FLOAT)], [("y", TensorProto.FLOAT)])
    x = rng.normal(size=(50, 4)).astype(np.float32)
    x[::7, 1] = np.nan
    agree(made, {"x": x})


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("sums, labels", [(3, 3), (1, 2), (2, 2)])
def test_linear_classifiers_score_as_onnx_runtime_does(transform, sums, labels):
    rng = np.random.default_rng(sums)
    node = helper.make_node("LinearClassifier", ["x"], ["y", "z"], domain=ML, post_transform=transform,
                            classlabels_ints=list(range(10, 10 + labels)), intercepts=rng.normal(size=sums).tolist(),
                            coefficients=rng.normal(size=4 * sums).tolist())
    made = model(node, [("x", TensorProto.FLOAT)], [("y", TensorProto.INT64), ("z", TensorProto.FLOAT)])
    agree(made, {"x": rng.normal(size=(20, 4)).astype(np.float32)})


def test_linear_regressors_and_features_agree_with_onnx_runtime():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(6, 4)).astype(np.float32)
    nodes = [("LinearRegressor", dict(targets=3, intercepts=[1.0, 2, 3], coefficients=rng.normal(size=12).tolist())),
             ("Scaler", dict(offset=[1.0, 2, 3, 4], scale=[2.0, 1, 0.5, 3])), ("Normalizer", dict(norm="L2")),
             ("Normalizer", dict(norm="L1")), ("Normalizer", dict(norm="MAX")), ("Binarizer", dict(threshold=0.3)),
             ("Imputer", dict(imputed_value_floats=[7.0], replaced_value_float=float(x[0, 0]))),
             ("OneHotEncoder", dict(cats_int64s=[0, 1, -1]))]
    for name, attributes in nodes:
        made = model(helper.make_node(name, ["x"], ["y"], domain=ML, **attributes), [("x", TensorProto.FLOAT)],
                     [("y", TensorProto.FLOAT)])
        agree(made, {"x": x})


def test_label_encoders_of_all_versions_use_their_tables():
    words = np.array(["b", "a", "c"], dtype=object)
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain=ML, keys_strings=["a", "b"], values_int64s=[5, 6],
                            default_int64=-3)
    agree(model(node, [("x", TensorProto.STRING)], [("y", TensorProto.INT64)]), {"x": words})
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain=ML, classes_strings=["a", "b"], default_int64=-3)
    made = model(node, [("x", TensorProto.STRING)], [("y", TensorProto.INT64)])
    made.opset_import[0].version = 1
    assert Executor(made).run({"x": words})[0].tolist() == [1, 0, -3]


def test_a_cyclic_tree_is_rejected():
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=1, nodes_treeids=[0, 0],
                            nodes_nodeids=[0, 1], nodes_featureids=[0, 0], nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ"],
                            nodes_values=[0.0, 0.0], nodes_truenodeids=[1, 0], nodes_falsenodeids=[1, 0])
    made = model(node, [("x", TensorProto.FLOAT)], [("y", TensorProto.FLOAT)])
    with pytest.raises(Exception, match="two branches lead to node"):
        Executor(made).run({"x": np.zeros((1, 1), np.float32)})


def test_unnamed_outputs_do_not_share_memory():
    made = helper.make_node("LinearClassifier", ["x"], ["", "", "z"], domain=ML, coefficients=[1.0, 2.0],
                            classlabels_strings=["a" * 100, "b" * 100])
    executor = Executor(model(made, [("x", TensorProto.FLOAT)], [("z", TensorProto.FLOAT)]))
    for rows in (10, 100000):
        assert executor.run({"x": np.ones((rows, 1), np.float32)}) == [None]
