/// @file
/// The modules of PyTorch that the nodes of a model come from, for rules by module and by class. torch.onnx
/// with `dynamo=True` writes them into the metadata of nodes. The TorchScript exporter only names nodes after
/// modules: with_modules() adds the rest.
///
/// @code{.cpp}
/// auto model = anybit::Model::load("model.onnx");
/// if (!model) return;
/// auto with_classes = anybit::with_modules(*model, {{"", "models.Net"}, {"stem", "models.Stem"}});
/// @endcode
#pragma once

#include <map>
#include <string>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// Adds the modules of each node to its metadata: those on the path in its name ("/blocks/0/conv/Conv"), or
/// in the names of its weights ("blocks.0.conv.weight"). `classes` has the class of every module by its path,
/// as `named_modules()` in PyTorch; "" is the outermost one. Nodes that have such metadata keep it.
ANYBIT_API Result<Model> with_modules(const Model& model,
                                      const std::map<std::string, std::string>& classes) noexcept;

}  // namespace anybit
