"""Running models from Python, compared with ONNX Runtime, on arrays of every kind."""

import os
import signal
import threading

import anybit
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from support.packaged import ROOT, matmul, model_of, two_inputs

CLASSIFIER = ROOT / "build" / "models" / "ch_ppocr_mobile_v2.0_cls_infer.onnx"


class Tensor:
    """Like a torch tensor: only DLPack and detach()."""

    def __init__(self, array):
        self.array = array

    def detach(self):
        return self

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_digits_match_onnxruntime(digits, images):
    theirs = onnxruntime.InferenceSession(digits).run(None, {"image": images})[0]
    np.testing.assert_allclose(anybit.Session(digits).run(images)["logits"], theirs, rtol=1e-4, atol=1e-4)


def test_a_real_classifier_matches_onnxruntime():
    session = anybit.Session(CLASSIFIER)
    name = session.inputs[0].name
    x = np.random.default_rng(3).standard_normal((2, 3, 48, 192)).astype(np.float32)
    theirs = onnxruntime.InferenceSession(CLASSIFIER).run(None, {name: x})[0]
    (ours,) = session.run({name: x}).values()
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("arrange", [
    lambda x: x, lambda x: np.asfortranarray(x), lambda x: x[:, ::-1][:, ::-1], lambda x: np.repeat(x, 2, axis=0)[::2],
    lambda x: x.astype(">f4"), lambda x: Tensor(x), lambda x: x.tolist()],
    ids=["plain", "fortran", "backwards", "strided", "big-endian", "dlpack", "lists"])
def test_the_layout_of_an_input_does_not_matter(arrange):
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    session = anybit.Session(matmul())
    given = arrange(x)
    if isinstance(given, list):
        given = np.asarray(given, np.float32)
    np.testing.assert_array_equal(session.run(given)["y"], session.run(x)["y"])


def test_inputs_are_given_by_name_by_keyword_or_in_order():
    x, y = np.ones((2, 3), np.float32), np.full((2, 3), 2, np.float32)
    session = anybit.Session(two_inputs())
    for outputs in (session.run({"x": x, "y": y}), session.run(x=x, y=y), session.run((x, y))):
        np.testing.assert_array_equal(outputs["z"], x + y)


def test_an_output_is_owned_by_the_caller_and_outlives_the_session():
    session = anybit.Session(matmul())
    x = np.ones((1, 8), np.float32)
    first = session.run(x)["y"]
    kept = first.copy()
    first[:] = 7
    np.testing.assert_array_equal(session.run(x)["y"], kept)
    session.close()
    del session
    assert (first == 7).all() and first.flags.writeable


def test_an_input_that_is_passed_on_is_not_shared_with_the_output():
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], [("x", [3])], [("y", [3])])
    x = np.arange(3, dtype=np.float32)
    y = anybit.Session(model).run(x)["y"]
    y[:] = 9
    np.testing.assert_array_equal(x, [0, 1, 2])


def test_inputs_that_become_items_of_a_sequence_are_not_shared_with_it():
    graph = helper.make_graph([helper.make_node("SequenceConstruct", ["x", "x"], ["s"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
                              [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = np.arange(3, dtype=np.float32)
    first, second = anybit.Session(model).run(x)["s"]
    first[:], second[:] = 8, 9
    np.testing.assert_array_equal(x, [0, 1, 2])
    np.testing.assert_array_equal(first, [8, 8, 8])


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,)])
def test_arrays_without_elements_or_without_axes_pass(shape):
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], [("x", list(shape))], [("y", list(shape))])
    x = np.full(shape, 2.5, np.float32)
    np.testing.assert_array_equal(anybit.Session(model).run(x)["y"], x)


@pytest.mark.parametrize("kind, dtype", [
    (TensorProto.FLOAT16, "float16"), (TensorProto.DOUBLE, "float64"), (TensorProto.INT8, "int8"),
    (TensorProto.UINT16, "uint16"), (TensorProto.INT64, "int64"), (TensorProto.BOOL, "bool"),
    (TensorProto.BFLOAT16, "bfloat16"), (TensorProto.FLOAT8E4M3FN, "float8_e4m3fn"), (TensorProto.INT4, "int4")])
def test_every_element_type_goes_in_and_comes_out(kind, dtype):
    import ml_dtypes

    model = model_of([helper.make_node("Identity", ["x"], ["y"])], [("x", [4], kind)], [("y", [4], kind)], opset=21)
    x = np.array([0, 1, 1, 0]).astype(getattr(ml_dtypes, dtype, None) or dtype)
    y = anybit.Session(model).run(x)["y"]
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


def test_text_goes_in_and_comes_out():
    kind = TensorProto.STRING
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], [("x", [2], kind)], [("y", [2], kind)])
    assert anybit.Session(model).run(np.array(["ä", "b" * 40]))["y"].tolist() == ["ä", "b" * 40]


def sequences():
    """The length of a sequence, and the sequence with x appended."""
    model = model_of([helper.make_node("SequenceLength", ["s"], ["n"]), helper.make_node("SequenceInsert", ["s", "x"], ["t"])],
                     [("x", [2])], [("n", [], TensorProto.INT64)])
    model.graph.input.append(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None))
    model.graph.output.append(helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, None))
    return model


@pytest.mark.parametrize("given", [[], (), [np.ones(2, np.float32)], (np.zeros((3, 1), np.float32), [[1.0]])])
def test_a_sequence_may_have_any_number_of_tensors(given):
    given = type(given)(np.asarray(one, np.float32) for one in given)
    x = np.array([5, 6], np.float32)
    outputs = anybit.Session(sequences()).run({"s": given, "x": x})
    assert outputs["n"] == len(given)
    for one, wanted in zip(outputs["t"], [*given, x], strict=True):
        np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize("given,message", [
    (np.ones(2, np.float32), r"input 's': float32\[2\] is given\n  hint: the model takes seq\(float32"),
    ([np.ones(2, np.float32), np.ones(2, np.int32)], "input 's': item 1: int32 elements are given\n  hint: the model takes float32"),
    ([[np.ones(2, np.float32)]], "input 's': item 0: a sequence of 1 is given"),
    (None, "input 's': nothing is given")])
def test_a_wrong_sequence_is_reported(given, message):
    with pytest.raises(anybit.InvalidArgument, match=message):
        anybit.Session(sequences()).run({"s": given, "x": np.zeros(2, np.float32)})


def test_a_list_of_arrays_for_a_tensor_is_an_array():
    rows = [np.ones(3, np.float32), np.zeros(3, np.float32)]
    np.testing.assert_array_equal(anybit.Session(two_inputs()).run({"x": rows, "y": rows})["z"], 2 * np.array(rows))


def test_a_session_can_be_closed_while_others_run_it(digits, images):
    session = anybit.Session(digits, threads=1)
    expected = session.run(images[:8])["logits"]
    failed, ran = [], []

    def work():
        try:
            while True:
                np.testing.assert_array_equal(session.run(images[:8])["logits"], expected)
                ran.append(1)
        except anybit.InvalidState:
            pass
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    while len(ran) < 5 and not failed:
        pass
    session.close()
    for one in threads:
        one.join(30)
    assert not failed and not any(one.is_alive() for one in threads)
    with pytest.raises(anybit.InvalidState, match="closed"):
        session.run(images[:1])


def test_a_process_that_was_forked_runs_models_too(digits, images):
    session = anybit.Session(digits, threads=2)
    session.run(images)
    child = os.fork()
    if child == 0:  # pragma: no cover
        signal.alarm(60)
        session.run(images)
        anybit.calibrate(digits, images[:20])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_a_profile_has_the_time_of_every_node(digits, images):
    times = anybit.Session(digits).profile(images[:1])
    assert times and all(one.nanoseconds >= 0 for one in times) and times[0].macs > 0


def test_memory_can_be_bounded(digits, images):
    with pytest.raises(anybit.LimitExceeded):
        anybit.Session(digits, max_memory=1000).run(images)


def test_outputs_that_are_one_value_of_the_model_do_not_share_memory():
    model = model_of([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Identity", ["y"], ["z"]),
                      helper.make_node("Reshape", ["y", "shape"], ["w"]), helper.make_node("SequenceConstruct", ["y", "z"], ["both"]),
                      helper.make_node("SequenceAt", ["both", "at"], ["one"])],
                     [("x", [4])], [("y", [4]), ("z", [4]), ("w", [2, 2]), ("one", [4])],
                     [("shape", np.array([2, 2])), ("at", np.array(1))])
    made = anybit.Session(model).run(np.arange(4, dtype=np.float32))
    for number, output in enumerate(made.values()):
        output += 10 * number
    for number, output in enumerate(made.values()):
        np.testing.assert_array_equal(output.reshape(-1), np.arange(4) + 10 * number)
