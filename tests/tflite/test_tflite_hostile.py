"""Damaged and hostile files are refused with an error that says what is wrong, and nothing worse happens."""
import random

import flatbuffers
import numpy as np
import pytest
from support.tflite_case import floats
from support.tflite_cases import CASES
from support.tflite_files import File, schema

import anybit


def unpacked(content):
    return schema.ModelT.InitFromPackedBuf(content, 0)


def packed(model):
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def refused(content, error, *words):
    with pytest.raises(error) as caught:
        anybit.load(content)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def loads_or_is_refused(content):
    try:
        anybit.load(content)
    except anybit.Error as error:
        assert str(error)


def test_every_prefix_of_a_file():
    content = CASES["CONV_2D int8"]()[0]
    for length in range(8, len(content), 7):
        loads_or_is_refused(content[:length])


@pytest.mark.parametrize("name", ["CONV_2D int8", "WHILE", "DENSIFY", "STRIDED_SLICE masks", "SPLIT_V"])
def test_flipped_bits(name):
    content, seed = CASES[name]()[0], random.randrange(2**32)
    print("seed", seed)
    pick = random.Random(seed)
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(pick.randrange(1, 4)):
            damaged[pick.randrange(8, len(damaged))] ^= 1 << pick.randrange(8)
        loads_or_is_refused(bytes(damaged))


def changed(name, change):
    model = unpacked(CASES[name]()[0])
    change(model)
    return packed(model)


def tensor_with(**values):
    def change(model):
        tensor = next(one for one in model.subgraphs[0].tensors if one.quantization is not None and one.quantization.scale is not None)
        for name, value in values.items():
            setattr(tensor.quantization if hasattr(tensor.quantization, name) else tensor, name, value)
    return change


@pytest.mark.parametrize("change, words", [
    (tensor_with(shape=[2, -7, 9, 4]), ["dimension 1 is -7"]),
    (tensor_with(scale=np.float32([1, 2, 3]), zeroPoint=np.int64([0, 0, 0])), ["3 scales along axis 0 of size 2"]),
    (tensor_with(scale=np.float32([1, 2])), ["2 scales and 1 zero points"]),
    (tensor_with(quantizedDimension=9, scale=np.float32([1, 2]), zeroPoint=np.int64([0, 0])), ["along axis 9", "4 dimensions"]),
    (tensor_with(zeroPoint=np.int64([300])), ["zero point is 300", "int8 holds -128 to 127"]),
    (tensor_with(scale=np.float32([np.nan])), ["its scale is nan"]),
    (tensor_with(buffer=99), ["buffer 99", "does not exist"]),
    (tensor_with(shapeSignature=[2, 7]), ["4 dimensions", "shape_signature 2"]),
])
def test_tensors(change, words):
    refused(changed("CONV_2D int8", change), anybit.InvalidModel, "subgraph 0: tensor 0", *words)


def test_a_constant_of_the_wrong_size():
    def change(model):
        model.buffers[1].data = model.buffers[1].data[:-1]
    refused(changed("CONV_2D", change), anybit.InvalidModel, "bytes", "elements of float32 are")


def test_data_outside_of_the_file():
    def change(model):
        model.buffers[1].data, model.buffers[1].offset, model.buffers[1].size = None, 64, 2**40
    refused(changed("CONV_2D", change), anybit.InvalidModel, "buffer 1", "outside of the file")


def test_numbers_of_tensors():
    def inputs(numbers):
        def change(model):
            model.subgraphs[0].operators[0].inputs = numbers
        return change
    refused(changed("CONV_2D", inputs([0, 1, 77])), anybit.InvalidModel, "operator 0 (CONV_2D)", "tensor 77", "does not exist")
    refused(changed("CONV_2D", inputs([0, -1, 2])), anybit.InvalidModel, "input 1 is left out")
    refused(changed("CONV_2D", inputs([0])), anybit.InvalidModel, "it has 1 inputs", "it takes 2 or more")
    refused(changed("MUL", inputs([0, 2])), anybit.InvalidModel, "tensor 2 't2'", "before an operator computes it")


def test_strides_of_zero():
    def change(model):
        model.subgraphs[0].operators[0].builtinOptions.strideW = 0
    refused(changed("CONV_2D", change), anybit.InvalidModel, "its stride is 0")


def test_a_custom_operator_is_refused_by_its_name():
    file = File()
    x, y = file.graph.tensor((2, 3)), file.graph.tensor((2, 3))
    file.graph.op("TFLite_Detection_PostProcess", [x], [y])
    file.graph.ports([x], [y])
    refused(file.bytes(), anybit.Unsupported, "custom operator 'TFLite_Detection_PostProcess'")


def test_an_operator_that_is_not_read_is_refused_by_its_name():
    file = File()
    x, y = file.graph.tensor((2, 3)), file.graph.tensor((2, 3))
    file.graph.op("RFFT2D", [x], [y])
    file.graph.ports([x], [y])
    refused(file.bytes(), anybit.Unsupported, "operator 0 (RFFT2D)", "docs/tflite.md")


def test_subgraphs_that_contain_each_other():
    file = File()
    for graph in file.graph, file.subgraph():
        condition, x, y = graph.tensor((), "bool"), graph.tensor((2, 3)), graph.tensor((2, 3))
        graph.op("IF", [condition, condition, x], [y], "If", thenSubgraphIndex=1, elseSubgraphIndex=1)
        graph.ports([condition, x], [y])
    refused(file.bytes(), anybit.LimitExceeded, "it lies in too many others, or in itself")


def test_one_vector_that_many_tensors_share():
    """The constants of 3,000 operators are one buffer of 1 MB, which each of them wants in another order."""
    file = File()
    graph = file.graph
    weights = graph.tensor(data=floats(np.random.default_rng(0), 512, 1, 1, 512))
    x = graph.tensor((1, 1, 1, 512))
    first = x
    for _ in range(3000):
        y = graph.tensor((1, 1, 1, 512))
        own = graph.tensor((512, 1, 1, 512))
        graph.made.tensors[own].buffer = graph.made.tensors[weights].buffer
        graph.op("CONV_2D", [x, own], [y], "Conv2D", strideW=1, strideH=1)
        x = y
    graph.ports([first], [x])
    refused(file.bytes(), anybit.LimitExceeded, "reading the file takes more memory than the limit")
