// The function by which ONNX Runtime finds the operators: SessionOptions.register_custom_ops_library().
#include <deque>
#include <mutex>
#include <vector>

#include "anybit/export.hpp"
#include "kernel.hpp"
#include "status.hpp"

namespace anybit::ort {
namespace {

// The operators' domains in one ONNX Runtime. Sessions refer to them as long as they live, and a process may
// hold more than one runtime: they are made once for each, and kept. (The library is never unloaded.)
class Domains {
 public:
  Result<void> make(const Api& api);
  Result<void> add_to(OrtSessionOptions* options) const;
  const Api* api() const { return api_; }

 private:
  const Api* api_ = nullptr;
  std::deque<RegisteredOp> ops_;
  std::vector<OrtCustomOpDomain*> domains_;
};

Result<void> Domains::make(const Api& api) {
  const char* last = nullptr;
  for (const Definition& definition : definitions()) {
    if (definition.domain != last) {
      OrtCustomOpDomain* domain = nullptr;
      auto made = checked(api, api.CreateCustomOpDomain(definition.domain, &domain), "CreateCustomOpDomain");
      if (!made.ok()) return made;
      domains_.push_back(domain);
      last = definition.domain;
    }
    ops_.emplace_back(definition);
    auto added = checked(api, api.CustomOpDomain_Add(domains_.back(), &ops_.back()), "CustomOpDomain_Add");
    if (!added.ok()) return added;
  }
  api_ = &api;
  return {};
}

Result<void> Domains::add_to(OrtSessionOptions* options) const {
  for (OrtCustomOpDomain* domain : domains_) {
    auto added = checked(*api_, api_->AddCustomOpDomain(options, domain), "AddCustomOpDomain");
    if (!added.ok()) return added;
  }
  return {};
}

Result<void> register_operators(OrtSessionOptions* options, const Api& api) {
  static std::mutex mutex;
  static std::deque<Domains> all;
  const std::lock_guard lock(mutex);
  for (const Domains& one : all) {
    if (one.api() == &api) return one.add_to(options);
  }
  if (auto made = all.emplace_back().make(api); !made.ok()) {
    all.pop_back();
    return made;
  }
  return all.back().add_to(options);
}

}  // namespace
}  // namespace anybit::ort

extern "C" ANYBIT_API OrtStatus* RegisterCustomOps(OrtSessionOptions* options,
                                                   const anybit::ort::ApiBase* base) noexcept {
  using namespace anybit::ort;
  const Api* api = base->GetApi(kApiVersion);
  if (api == nullptr) {  // ONNX Runtime before 1.17: its first version can make a status as well
    api = base->GetApi(1);
    return api->CreateStatus(kNotImplemented, "anybit: these operators need ONNX Runtime 1.17 or newer");
  }
  return status_of(*api, [&] { return register_operators(options, *api); });
}
