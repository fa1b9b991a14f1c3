"""The manual page and shell completion, which the program generates from its own definitions."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"


def commands(anybit):
    listed = anybit("--help").stdout.split("Subcommands:")[1]
    return re.findall(r"^  ([a-z-]+) ", listed, re.M)


def options(anybit, command):
    """The long options that the help of a command shows."""
    return set(re.findall(r"^  (?:-\w,)?((?:--[a-z_-]+,?)+)", anybit("help", command).stdout, re.M))


@pytest.fixture
def completed(anybit, tmp_path):
    """completed(word, …): the completions of bash for the last word."""
    (tmp_path / "script").write_text(anybit("completion", "bash").stdout)

    def complete(*words):
        line = " ".join(f"'{word}'" for word in words)
        program = f"source ./script; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _anybit; echo ${{COMPREPLY[@]}}"
        return subprocess.run(["bash", "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()
    return complete


def test_bash_completes_commands_options_and_values(completed):
    assert completed("anybit", "comp") == ["compare", "completion"]
    assert completed("anybit", "quantize", "m.onnx", "--rec") == ["--recipe", "--recipe-out"]
    assert completed("anybit", "quantize", "m.onnx", "--recipe", "mxint") == ["mxint8", "mxint8-weights"]
    assert completed("anybit", "quantize", "--target", "ethos-u65") == ["ethos-u65-256", "ethos-u65-512"]
    assert completed("anybit", "quantize", "--emit", "=", "qd") == ["qdq"]  # bash splits --emit=qd into words
    assert completed("anybit", "quantize", "--emit", "=") == completed("anybit", "quantize", "--emit", "")
    assert completed("anybit", "formats", "mxfp4") == ["mxfp4_e2m1"]
    assert completed("anybit", "help", "insp") == ["inspect"]
    assert completed("anybit", "quantize", "mod") == []  # a file: left to the shell
    assert completed("anybit", "codegen", "m.onnx", "--target", "c") == ["c-gen"]
    assert completed("anybit", "run", "m.onnx", "--codegen", "so") == ["so-gen"]
    assert completed("anybit", "run", "m.onnx", "--quantize", "int8_") == ["int8_wo"]
    assert completed("anybit", "calibrate", "m.onnx", "--layout", "") == ["NCHW", "NHWC"]


def test_every_command_with_a_result_gives_it_as_json(anybit):
    for command in set(commands(anybit)) - {"help", "man", "completion"}:
        assert "--json" in options(anybit, command), command


@pytest.mark.parametrize("option, call", [
    ("--emit", ["quantize", "M", "-o", "q.onnx", "--recipe", "w8"]), ("--prefer", ["codegen", "M", "--target", "c-gen"]),
    ("--rounding", ["convert", "X", "--format", "int8", "-o", "y.npz"]),
    ("--granularity", ["convert", "X", "--format", "int8", "-o", "y.npz"]), ("SHELL", ["completion"])])
def test_offered_choices_match_those_of_the_error(anybit, completed, tmp_path, option, call):
    np.save(tmp_path / "x.npy", np.ones(4, np.float32))
    paths = {"M": DIGITS / "digits.onnx", "X": tmp_path / "x.npy", "q.onnx": tmp_path / "q.onnx", "y.npz": tmp_path / "y.npz"}
    flag = [] if option == "SHELL" else [option]
    said = anybit(*(paths.get(word, word) for word in call), *flag, "nonsense", code=2).stderr.split("hint: ")[1]
    listed = set(re.findall(r"[A-Za-z_-]+", said)) - {"one", "of", "or"}
    assert set(completed("anybit", call[0], *flag, "")) == listed


def test_bash_knows_every_option_of_every_command(anybit, completed):
    for command in commands(anybit):
        offered = set(completed("anybit", command, "--"))
        for names in options(anybit, command):
            assert set(names.rstrip(",").split(",")) <= offered, command


def test_zsh_reads_its_script_and_finds_every_command_in_it(anybit, tmp_path):
    script = anybit("completion", "zsh").stdout
    (tmp_path / "_anybit").write_text(script)
    subprocess.run(["zsh", "-n", tmp_path / "_anybit"], check=True, capture_output=True)
    assert script.startswith("#compdef anybit\n")
    assert all(f"'{command}:" in script for command in commands(anybit))


def test_another_shell_is_a_usage_error(anybit):
    assert "bash or zsh" in anybit("completion", "fish", code=2).stderr


def test_the_manual_page_is_well_formed_and_has_every_option(anybit):
    page = anybit("man").stdout
    done = subprocess.run(["groff", "-man", "-Tutf8", "-K", "utf8", "-ww", "-P-c", "-P-u", "-P-b"], input=page,
                          capture_output=True, text=True, check=True)
    assert done.stderr == ""
    for command in commands(anybit):
        part = page.split(f"\n.SS anybit {command}\n".replace("-", "\\-"))[1].split("\n.SS")[0]
        for names in options(anybit, command):
            assert all(f"\\fB{name}\\fR".replace("-", "\\-") in part for name in names.rstrip(",").split(",")), (command, names)


def test_the_version_shows_how_it_was_built(anybit):
    assert re.match(r"anybit [\d.]+ \((clang|g)\+\+ .*, \w+, protobuf [\d.]+(, oneDNN [\d.]+)?(, [\w ]*-?\w+ [\d.]+)*, [A-Z0-9_]+(\+VNNI)?\)\n$",
                    anybit("--version").stdout)
