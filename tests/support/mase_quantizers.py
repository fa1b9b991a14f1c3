"""MASE's own quantizers, from a checkout of its repository, on arrays of a file. Runs in any Python that has torch.

    python tests/support/mase_quantizers.py CHECKOUT CASES.npz RESULTS.npz

CASES has an array for each case; its name is the quantizer and its arguments as JSON: [number, quantizer, arguments].
"""
import importlib
import json
import pathlib
import sys
import types


def quantizers_of(checkout):
    """The module of a quantizer by name. The package's own __init__ imports more than torch, and is left out."""
    package = types.ModuleType("mase_quantizers_of_checkout")
    package.__path__ = [str(pathlib.Path(checkout) / "src/chop/nn/quantizers")]
    sys.modules[package.__name__] = package
    homes = {"minifloat_ieee": "minifloat", "minifloat_denorm": "minifloat"}

    def find(name):
        module = importlib.import_module(f"{package.__name__}.{homes.get(name, name)}")
        return getattr(module, f"{name}_quantizer")

    return find


def main(checkout, cases, results):
    import numpy as np
    import torch

    torch.set_num_threads(1)
    find = quantizers_of(checkout)
    made = {}
    with np.load(cases) as arrays:
        for case in arrays:
            _, name, arguments = json.loads(case)
            x = torch.from_numpy(arrays[case])
            made[case] = find(name)(x, **arguments).numpy()
    np.savez(results, **made)


if __name__ == "__main__":
    main(*sys.argv[1:])
