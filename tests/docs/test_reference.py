"""The API reference builds without a warning, and contains the declarations of the headers and the package."""
import re
import subprocess

import pytest
from support.running import ROOT


@pytest.fixture(scope="module")
def reference(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    done = subprocess.run([ROOT / "scripts" / "reference", build, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_reference_contains_the_functions_of_the_headers(reference):
    pages = "".join(page.read_text() for page in (reference / "cpp").rglob("*.html"))
    text = "".join(path.read_text() for path in sorted((ROOT / "include" / "anybit").glob("*.hpp")))
    functions = set(re.findall(r"^ANYBIT_API [\w:<>, ]+ (\w+)\(", text, re.M)) | set(re.findall(r"(anybit_\w+)\(", (ROOT / "include/anybit/anybit.h").read_text()))
    assert len(functions) > 50
    assert sorted(name for name in functions if name not in pages) == []


def test_comments_become_descriptions(reference):
    page = next((reference / "cpp").rglob("namespaceanybit.html")).read_text()
    assert "recipe_presets" in page
    header = next((reference / "cpp").rglob("structanybit_1_1QuantizeOptions.html")).read_text()
    assert re.search(r"0: one for each core|0: one per core|one thread per core", header)


def test_the_reference_contains_the_public_names_of_the_package(reference):
    page = (reference / "python" / "anybit.html").read_text()
    for name in ("load", "quantize", "compare", "Session", "Quantizer", "Ranges", "formats"):
        assert f'id="{name}"' in page, name
