"""Runs `anybit inspect --json` and reads what it says."""

import json
import subprocess

import onnx


def inspect(program, model, *options) -> dict:
    done = subprocess.run([program, "inspect", str(model), "--json", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def graphs_of(graph):
    """A graph and all graphs inside its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from graphs_of(inner)


def nodes_of(model: onnx.ModelProto):
    return [node for graph in graphs_of(model.graph) for node in graph.node]
