"""Bad input from Python: an anybit exception with the reason; no crash, no partial output."""

import anybit
import numpy as np
import pytest
from support.packaged import matmul, two_inputs


def broken_after(images, count):
    for i, image in enumerate(images):
        if i == count:
            raise OSError("the disk of the samples is gone")
        yield image[None]


@pytest.mark.parametrize("value, said", [
    (np.zeros((1, 8), np.complex64), "complex64"), (np.array(["a"] * 8).reshape(1, 8), "string"),
    (np.zeros((1, 8), np.float64), "float64"), (np.zeros((1, 8), "datetime64[s]"), "datetime64"),
    (np.zeros((1, 7), np.float32), "7"), (np.zeros((8,), np.float32), "x"),
    (np.array([[1.0], [1.0, 2.0]], dtype=object), "object"), (object(), "object"), ([[1.0], [1.0, 2.0]], "list")],
    ids=["complex", "text", "double", "dates", "shape", "rank", "ragged array", "object", "ragged lists"])
def test_a_mismatched_input_is_rejected(value, said):
    session = anybit.Session(matmul())
    with pytest.raises(anybit.InvalidArgument, match=said):
        session.run({"x": value})
    assert session.run(np.ones((1, 8), np.float32))["y"].shape == (1, 4)


@pytest.mark.parametrize("inputs", [{}, {"y": np.zeros(3)}, (np.zeros(3), np.zeros(3))])
def test_missing_or_unknown_inputs_are_rejected(inputs):
    with pytest.raises(anybit.Error):
        anybit.Session(matmul()).run(inputs)


def test_an_input_that_is_given_twice_is_rejected():
    ones = np.ones((1, 8), np.float32)
    for inputs in ({"x": ones}, ones):
        with pytest.raises(anybit.InvalidArgument, match="input 'x' is given twice"):
            anybit.Session(matmul()).run(inputs, x=2 * ones)


def test_an_exception_of_an_iterator_reaches_the_caller(digits, images, tmp_path):
    with pytest.raises(OSError, match="the disk of the samples is gone"):
        anybit.quantize(digits, "int8", broken_after(images, 20)).save(tmp_path / "q.onnx")
    with pytest.raises(OSError, match="gone"):
        anybit.compare(digits, digits, broken_after(images, 3))
    assert list(tmp_path.iterdir()) == []
    assert anybit.quantize(digits, "int8", images[:20]).report.samples == 20


def test_numbers_that_are_too_small_are_rejected(digits, images):
    calls = [lambda **given: anybit.calibrate(digits, images[:3], **given),
             lambda **given: anybit.quantize(digits, "int8", images[:3], **given),
             lambda **given: anybit.compare(digits, digits, images[:3], **given)]
    for call in calls:
        for few in (-1, 0):
            with pytest.raises(anybit.InvalidArgument, match=f"samples={few}"):
                call(samples=few)
        with pytest.raises(anybit.InvalidArgument, match="max_memory=-10"):
            call(max_memory=-10)
    with pytest.raises(anybit.InvalidArgument, match="max_memory=-10"):
        anybit.Session(digits, max_memory=-10)


def test_ranges_are_an_object_or_a_path(digits, images, tmp_path):
    with pytest.raises(anybit.InvalidArgument, match="ranges=7"):
        anybit.quantize(digits, "int8", ranges=7)
    with pytest.raises(anybit.NotFound):
        anybit.quantize(digits, "int8", ranges=str(tmp_path / "none.json"))
    ranges = anybit.calibrate(digits, images[:5])
    ranges.save(tmp_path / "ranges.json")
    by_path = anybit.quantize(digits, "int8", ranges=tmp_path / "ranges.json")
    assert by_path.to_bytes() == anybit.quantize(digits, "int8", ranges=ranges).to_bytes()
    with pytest.raises(anybit.InvalidArgument, match="one of the two"):
        anybit.quantize(digits, "int8", images[:2], ranges=ranges)


class Stubborn:
    def get_next(self):
        raise SystemError("no more")


@pytest.mark.parametrize("source, raised", [
    ([np.zeros((1, 7), np.float32)], anybit.Error),
    ([np.ones((1, 8), np.float32), "text"], anybit.Error),
    ([(np.ones((1, 8)), np.ones(1))], anybit.InvalidArgument),
    ([{"z": np.ones((1, 8), np.float32)}], anybit.InvalidArgument), ([None], anybit.InvalidArgument),
    ([np.full((1, 8), np.nan, np.float32)], anybit.InvalidData),
    ([[[1.0, 2.0], [3.0]]], anybit.InvalidArgument),
    (42, anybit.InvalidArgument), (b"bytes", anybit.InvalidArgument), ([], anybit.Error), (Stubborn(), SystemError),
    ("no/such/folder", anybit.NotFound), (np.zeros((0, 8), np.float32), anybit.InvalidArgument),
    (np.zeros((2, 3, 4, 8), np.float32), anybit.InvalidArgument)],
    ids=["shape", "text", "too many", "unknown name", "None", "NaN", "ragged", "number", "bytes", "none", "reader", "folder", "empty",
         "rank"])
def test_mismatched_samples_are_rejected(source, raised):
    with pytest.raises(raised) as caught:
        anybit.quantize(matmul(), "int8", source)
    assert str(caught.value)
    assert anybit.quantize(matmul(), "int8", np.ones((3, 8), np.float32)).report.samples == 3


def test_a_mismatched_sample_is_named_by_its_index():
    good = np.ones((1, 8), np.float32)
    with pytest.raises(anybit.InvalidArgument, match="sample 2"):
        anybit.calibrate(matmul(), [good, good, np.zeros((1, 8), np.complex64)])


def test_the_message_names_the_misspelt_name():
    ones = np.ones((1, 8), np.float32)
    for source in ({"X": ones}, [{"X": ones}]):
        with pytest.raises(anybit.InvalidArgument, match="the model has no input 'X'"):
            anybit.calibrate(matmul(), source)
    with pytest.raises(anybit.InvalidArgument, match="sample 1: input 'x': None is not an array"):
        anybit.calibrate(matmul(), [ones, None])


def test_inputs_with_different_numbers_of_samples_are_rejected():
    with pytest.raises(anybit.InvalidArgument, match="as many of each"):
        anybit.calibrate(two_inputs(), {"x": np.ones((3, 1, 3), np.float32), "y": np.ones((2, 1, 3), np.float32)})


@pytest.mark.parametrize("recipe, said", [
    ("in8", "did you mean 'int8'"), ({"global": {"weihgts": "int8"}}, "weihgts"), ({"type": {"Convv": "int8"}}, "Convv"),
    ({}, "no rules"), ({"global": object()}, "config"), (7, "recipe=7"), ("no/such.yaml", "such.yaml")])
def test_a_wrong_recipe_is_rejected(recipe, said):
    with pytest.raises(anybit.Error, match=said):
        anybit.quantize(matmul(), recipe, np.ones((3, 8), np.float32))


def test_an_exception_of_progress_ends_the_work_and_reaches_the_caller(digits, images):
    def angry(done, total):
        raise RuntimeError("enough")
    with pytest.raises(RuntimeError, match="enough"):
        anybit.calibrate(digits, images, progress=angry)


def test_an_unknown_target_or_name_is_rejected_at_once():
    with pytest.raises(anybit.Error):
        anybit.Quantizer(target="ethos-u55-129")
    with pytest.raises(anybit.Error):
        anybit.Quantizer().set_module_name("nowhere", None).quantize(matmul(), np.ones((3, 8), np.float32))
    with pytest.raises(anybit.InvalidArgument):
        anybit.get_symmetric_quantization_config(act_qmin=-5)


def test_a_file_that_cannot_be_written_leaves_nothing_behind(digits, tmp_path):
    with pytest.raises(anybit.Error):
        anybit.load(digits).save(tmp_path / "no" / "such" / "folder.onnx")
    with pytest.raises(anybit.InvalidArgument, match="keep, always or never"):
        anybit.load(digits).save(tmp_path / "a.onnx", external_data="sometimes")
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_is_an_anybit_error_and_leaves_nothing_behind(digits, tmp_path):
    page = anybit.quantize(digits, "w8").report.page()
    (tmp_path / "folder").mkdir()
    for path, kind in ((tmp_path / "no" / "page.html", anybit.NotFound), (tmp_path / "folder", anybit.Io), ("", anybit.InvalidArgument)):
        with pytest.raises(kind, match=f"cannot write '{path}'"):
            page.save(path)
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]
    page.save(tmp_path / "page.html")
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "page.html"]


def test_options_without_effect_are_rejected(digits, images, recwarn):
    with pytest.raises(anybit.InvalidArgument, match=r"labels=\[\]"):
        anybit.compare(digits, digits, images[:2], labels=[])
    for call in (anybit.generators, lambda folder: anybit.codegen(digits, "c-gen", "x.c", plugins=folder)):
        with pytest.raises(anybit.InvalidArgument, match="plugins='relative'"):
            call("relative")
    with pytest.raises(anybit.InvalidData, match="1e.300 is beyond the range of float32"):
        anybit.formats["int8"].quantize(np.array([1e300]))
    assert not recwarn.list  # of numpy


def test_a_source_that_calls_back_into_the_library_works(digits, images):
    session = anybit.Session(digits)

    def samples():
        for image in images[:10]:
            session.run(image[None])
            yield image[None]
    assert anybit.calibrate(digits, samples()).samples == 10


def test_a_generator_that_runs_on_the_callers_thread_sees_that_thread(digits, images):
    import threading

    seen = set()

    def samples():
        for image in images[:10]:
            seen.add(threading.current_thread())
            yield image[None]
    anybit.calibrate(digits, samples())
    assert seen == {threading.current_thread()}


@pytest.mark.filterwarnings("error")
def test_a_number_beyond_float32_is_reported_and_not_called_infinite():
    x = np.array([[1, 2], [-1e300, 4]])
    with pytest.raises(anybit.InvalidData, match=r"value \[1, 0\]: -1e\+300 is beyond the range of float32"):
        anybit.formats["int8"].quantize(x)
    with pytest.raises(anybit.InvalidData, match="value .1. is Inf|value .1.: is Inf"):
        anybit.formats["int8"].quantize(np.array([1, np.inf]))
    assert anybit.formats["bfloat16"].quantize(x, allow_nonfinite=True, saturate=False)[1, 0] == -np.inf
