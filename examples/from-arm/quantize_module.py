"""Quantizes a module of PyTorch for Ethos-U with the calls of ExecuTorch's Arm backend; only the import line is changed.

    python examples/from-arm/quantize_module.py net.u55.onnx      (needs torch: docs/from-pytorch.md)
"""
import sys

import torch

# was: from executorch.backends.arm.ethosu import …; from executorch.backends.arm.quantizer import …
from anybit.compat.ethosu import (EthosUCompileSpec, EthosUQuantizer, get_symmetric_a16w8_quantization_config,
                                  get_symmetric_quantization_config)


class Sub(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(4)

    def forward(self, x):
        return x + torch.relu(self.norm(self.conv(x)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.blocks = torch.nn.ModuleDict({"first": Sub(), "sub": Sub()})
        self.head = torch.nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks.values():
            x = block(x)
        return self.head(x.mean((2, 3)))


torch.manual_seed(0)
inputs = (torch.randn(1, 3, 16, 16),)
net = Net().eval()
model = torch.export.export(net, inputs).module()

quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128"))
quantizer.set_global(get_symmetric_quantization_config())
quantizer.set_io(get_symmetric_quantization_config())
quantizer.set_module_type(torch.nn.Linear, get_symmetric_quantization_config(is_per_channel=False))
quantizer.set_module_name("blocks.sub", get_symmetric_a16w8_quantization_config())
model = quantizer.transform_for_annotation(model)

samples = [(torch.randn(1, 3, 16, 16),) for _ in range(32)]
quantized = quantizer.quantize_with_submodules(model, samples)
print(quantized.report)
for sample in samples[:4]:
    print(quantized(*sample)[0, :3], net(*sample)[0, :3])
quantized.save(sys.argv[1])
