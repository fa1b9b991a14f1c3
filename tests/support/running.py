"""Runs the examples of a document in order, in one folder with the files that examples use."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from support.blocks import Bad, Block, blocks_of, missing, steps_of

ROOT = Path(__file__).resolve().parents[2]
STRICT = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused"]
# Declarations that C fragments in the documents use.
AROUND = """
#include <stdint.h>
#include "anybit/anybit.h"
static anybit_session* session;
static float input[784], output[10];
static int runs;
"""


def furnish(folder: Path, build: Path) -> None:
    """examples/ as in the repository; model.onnx, samples/, test/ and labels.npy in place of a user's own."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "build").mkdir()
    (folder / "build" / "release").symlink_to(build.resolve())
    (folder / "include").symlink_to(ROOT / "include")
    digits = folder / "examples" / "digits"
    for name in ("model.onnx", "digits.onnx"):
        shutil.copy(digits / "digits.onnx", folder / name)
    shutil.copy(digits / "test_labels.npy", folder / "labels.npy")
    for name, file in (("samples", "calibration_images.npy"), ("test", "test_images.npy")):
        (folder / name).mkdir()
        pixels = np.load(digits / file).astype(np.float32)
        np.save(folder / name / "image.npy", (pixels / 255 - np.float32(0.1307)) / np.float32(0.3081))
    np.save(folder / "w.npy", np.random.default_rng(0).normal(0, 0.05, (256, 512)).astype(np.float32))


class Runner:
    def __init__(self, build: Path, folder: Path):
        self.build, self.folder, self.names, self.printed = build.resolve(), folder, {}, ""
        self.environment = {**os.environ, "PYTHONPATH": str(self.build / "python"), "COLUMNS": "120",
                            "PATH": f"{self.build}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def document(self, text: str, name: str) -> None:
        for block in blocks_of(text):
            if block.not_run or block.language == "text":
                continue
            try:
                getattr(self, block.language)(block)
            except Exception as error:
                raise Bad(f"{name}, line {block.line}: {type(error).__name__}: {error}") from error

    def process(self, *command, input=None) -> str:
        done = subprocess.run([str(word) for word in command], input=input, capture_output=True, text=True, timeout=120,
                              cwd=self.folder, env=self.environment)
        if done.returncode != 0:
            raise Bad(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def sh(self, block: Block) -> None:
        self.printed = self.process("bash", "-euo", "pipefail", "-c", block.text)

    def console(self, block: Block) -> None:
        for step in steps_of(block.text):
            self.printed = self.process("bash", "-euo", "pipefail", "-c", step.command)
            self.compare(step.shown, block)

    def output(self, block: Block) -> None:
        """The output of the block before it."""
        self.compare(block.text.splitlines(), block)

    def compare(self, shown: list[str], block: Block) -> None:
        line = missing(shown, self.printed.rstrip("\n").split("\n") if self.printed else [], bool(block.numbers_vary))
        if line is not None:
            raise Bad(f"shows '{line}', which is not at its position in\n{self.printed}")

    def python(self, block: Block) -> None:
        printed = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
            exec(compile(block.text, "example", "exec"), self.names)
        self.printed = printed.getvalue()

    def yaml(self, block: Block) -> None:
        """A recipe, or a target with its constraints, that quantizes model.onnx."""
        option = "--target" if block.text.startswith("target:") else "--recipe"
        (self.folder / "example.yaml").write_text(block.text)
        self.process("anybit", "quantize", "model.onnx", "-o", "example.onnx", option, "example.yaml", "--calib", "samples")

    def json(self, block: Block) -> None:
        json.loads(block.text)

    def c(self, block: Block) -> None:
        """A program is run; declarations must agree with the headers in the folder; statements must compile."""
        if "int main(" in block.text:
            (self.folder / "program.c").write_text(block.text)
            library = self.build / "lib"
            self.process(*STRICT, "program.c", "-o", "program", f"-I{ROOT}/include", f"-L{library}", "-lanybit",
                         f"-Wl,-rpath,{library}")
            self.printed = self.process("./program")
            return
        headers = "".join(f'#include "{path.name}"\n' for path in sorted(self.folder.glob("*.h")))
        declares = block.text.rstrip().endswith(");") and "anybit_" not in block.text
        text = f"{headers}{block.text}" if declares else f"void example(void) {{ {{\n{block.text}}} }}\n"
        self.process(*STRICT, "-Wno-missing-prototypes", "-fsyntax-only", "-x", "c", f"-I{ROOT}/include", f"-I{self.folder}",
                     "-", input=AROUND + text)
