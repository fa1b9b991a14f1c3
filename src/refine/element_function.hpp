// The elementwise function that the consumers of a value compute: Relu, or SiLU written as Sigmoid and Mul.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/index.hpp"
#include "graph/model.hpp"
#include "runtime/executor.hpp"

namespace anybit::quantizing {

class ElementFunction {
 public:
  // The longest function of `value` behind which nothing uses the value itself; empty if there is none.
  // Constants in it are scalars, or rows of `row` elements (0: none).
  static ElementFunction after(const graph::Model& model, const graph::Index& index, const std::string& value,
                               std::int64_t row, const runtime::ExecutorOptions& with);

  explicit operator bool() const { return executor_ != nullptr; }
  // The results for rows of `row` numbers, in any number of threads; empty if it fails.
  std::vector<float> operator()(std::vector<float> x, std::int64_t row) const;

 private:
  std::shared_ptr<const runtime::Executor> executor_;  // of the function's nodes alone
};

}  // namespace anybit::quantizing
