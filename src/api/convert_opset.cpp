#include "anybit/convert_opset.hpp"

#include "api/model_access.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "graph/verify.hpp"
#include "passes/raise_opset.hpp"

namespace anybit {

Result<OpsetConversion> convert_opset(const Model& model, std::optional<std::int64_t> opset) noexcept {
  return guarded([&]() -> Result<OpsetConversion> {
    const Model::Content& content = ModelAccess::content(model);
    passes::Raised raised = TRY(passes::raise_opset(content.model, opset, content.limits));
    TRY(graph::verify(raised.model, content.limits));
    return OpsetConversion{ModelAccess::made(std::move(raised.model), content.limits), raised.from, raised.to,
                           raised.changed};
  });
}

std::string newer_opset(const Model& model) {
  const std::int64_t opset = ModelAccess::content(model).model.opset().value_or(0);
  const std::int64_t newest = passes::newest_opset();
  return opset > newest ? fmt::format("opset {}, but {} is the newest that anybit knows", opset, newest) : "";
}

}  // namespace anybit
