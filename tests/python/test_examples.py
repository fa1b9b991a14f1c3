"""The examples in the docstrings of the package."""

import doctest
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import anybit

MODULES = ["anybit"] + [one.name for one in pkgutil.walk_packages(anybit.__path__, "anybit.")
                        if one.name not in ("anybit._anybit", "anybit.__main__")]


@pytest.fixture
def names(digits, images, labels, tmp_path):
    """The names that examples may use."""
    return {"anybit": anybit, "np": np, "digits": digits, "images": images, "labels": labels, "folder": tmp_path}


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_print_the_shown_output(module, names):
    result = doctest.testmod(importlib.import_module(module), extraglobs=names)
    assert result.failed == 0


@pytest.mark.parametrize("name", [name for name in anybit.__all__ if inspect.isclass(getattr(anybit, name))
                                  or inspect.isfunction(getattr(anybit, name))])
def test_everything_public_has_a_docstring(name):
    assert getattr(anybit, name).__doc__
