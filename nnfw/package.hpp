// nnpackage folders of onert.
#pragma once

#include <string>

namespace anybit::nnfw {

struct Package {
  std::string model;  // the path of the ONNX file
  std::string error;  // not empty: there is none
};

// The ONNX model that metadata/MANIFEST of the folder `path` names. The path of a file is returned as it is.
Package read_package(const std::string& path);

}  // namespace anybit::nnfw
