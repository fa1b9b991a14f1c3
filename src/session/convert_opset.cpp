#include "anybit/convert_opset.hpp"

#include "base/guard.hpp"
#include "base/try.hpp"
#include "graph/verify.hpp"
#include "passes/raise_opset.hpp"
#include "session/model_access.hpp"

namespace anybit {

Result<OpsetConversion> convert_opset(const Model& model, std::optional<std::int64_t> opset) noexcept {
  return guarded([&]() -> Result<OpsetConversion> {
    const Model::Content& content = ModelAccess::content(model);
    passes::Raised raised = TRY(passes::raise_opset(content.model, opset));
    TRY(graph::verify(raised.model));
    return OpsetConversion{ModelAccess::make({std::move(raised.model), content.path, content.file_bytes}),
                           raised.from, raised.to, raised.changed};
  });
}

}  // namespace anybit
