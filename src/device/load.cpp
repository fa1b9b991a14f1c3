// A session's model: loading, sharing, preparing, and the paths of its files.
#include <filesystem>

#include "anybit/calibrate.hpp"
#include "api/model_access.hpp"
#include "api/port.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "device/session.hpp"

namespace anybit {

Result<void> DeviceSession::take(Model model, std::string path) {
  const graph::Model& inner = ModelAccess::content(model).model;
  std::vector<Port> inputs = input_ports(inner), outputs;
  for (const graph::ValueInfo& one : inner.graph->outputs) outputs.push_back(port_of(one, true));
  std::vector<Buffer> input_buffers(inputs.size()), output_buffers(outputs.size());
  Grids grids{input_grids(inner, inputs), output_grids(inner, outputs)};
  model_ = std::move(model);
  path_ = std::move(path);
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
  input_buffers_ = std::move(input_buffers);
  output_buffers_ = std::move(output_buffers);
  grids_ = std::move(grids);
  if (!backends_) take_default_backends();
  state_ = State::loaded;
  return {};
}

Error in_file(Error error, const std::string& path) {
  return error.text().find(path) != std::string::npos ? error : std::move(error).within(path);
}

Result<void> DeviceSession::load_file(const std::string& path) {
  auto model = Model::load(path, load_);
  if (model.ok()) return take(std::move(model).value(), path);
  return in_file(std::move(model).error(), path);
}

Result<void> DeviceSession::load_bytes(std::span<const std::byte> bytes) {
  return take(TRY(Model::from_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, load_)), {});
}

Result<void> DeviceSession::share(const DeviceSession& other) {
  if (!other.executor_ && !other.quantized_)
    return error_at(Code::invalid_state, {}, "the other session has no prepared model to share",
                    "anybit_prepare with the other session before");
  std::string hash = other.hash_;
  std::optional<Executor> executor = other.executor_;
  std::optional<Quantized> quantized = other.quantized_;
  TRY(take(*other.model_, other.path_));
  hash_ = std::move(hash);
  threads_ = other.threads_;
  executor_ = std::move(executor);
  quantized_ = std::move(quantized);
  generated_ = other.generated_;
  variables_ = other.variables_;
  state_ = State::prepared;
  return {};
}

Result<void> DeviceSession::set_threads(int threads) {
  if (threads < 0 || threads > 1024)
    return invalid_argument(fmt::format("{} threads", threads), "1 to 1024, or 0 for one per core");
  threads_ = threads;
  return {};
}

Result<void> DeviceSession::set_limit(anybit_limit limit, std::int64_t value) {
  if (value < 0) return invalid_argument(fmt::format("a limit of {}", value), "0 or more");
  switch (limit) {
    case ANYBIT_LIMIT_RANK:
      load_.limits.rank = value;
      return {};
    case ANYBIT_LIMIT_ELEMENTS:
      load_.limits.elements = value;
      return {};
    case ANYBIT_LIMIT_NODES:
      load_.limits.nodes = value;
      return {};
    case ANYBIT_LIMIT_DEPTH:
      load_.limits.depth = value;
      return {};
    case ANYBIT_LIMIT_RECORDS:
      load_.limits.records = value;
      return {};
    case ANYBIT_LIMIT_WORK_BYTES:
      load_.limits.work_bytes = value;
      return {};
    case ANYBIT_LIMIT_WORK_ELEMENTS:
      load_.limits.work_elements = value;
      return {};
    case ANYBIT_LIMIT_WORK_NODES:
      load_.limits.work_nodes = value;
      return {};
    case ANYBIT_LIMIT_MEMORY:
      max_memory_ = value;
      return {};
  }
  return invalid_argument(fmt::format("there is no limit {}", static_cast<int>(limit)),
                          "one of ANYBIT_LIMIT_…");
}

Result<void> DeviceSession::set_reproducible(int wanted) {
  if (wanted != 0 && wanted != 1) return invalid_argument(fmt::format("reproducible {}", wanted), "0 or 1");
  if (reproducible_ != (wanted == 1)) gatherer_.reset();
  reproducible_ = wanted == 1;
  return {};
}

Result<void> DeviceSession::set_workspace(std::optional<std::string> folder) {
  std::error_code error;
  if (folder && !folder->empty() && !std::filesystem::is_directory(*folder, error))
    return error_at(Code::not_found, {}, fmt::format("'{}' is not a folder", shown(*folder)),
                    "the path of a folder that exists");
  const bool nowhere = folder ? folder->empty() : path_.empty();
  if ((config_ & ANYBIT_TRACE) != 0 && nowhere)
    return invalid_argument("a trace is being recorded, and there would be no folder for it",
                            "anybit_reset_execute_config before");
  workspace_ = std::move(folder);
  ranges_.reset();
  return {};
}

Result<Executor> DeviceSession::executor_for(const Model& model) const {
  return Executor::make(model, {.threads = threads_, .max_memory = max_memory_, .variables = variables_});
}

DeviceSession::Grids DeviceSession::grids_of(const Model& model) const {
  const graph::Model& inner = ModelAccess::content(model).model;
  return {input_grids(inner, inputs_), output_grids(inner, outputs_)};
}

Result<void> DeviceSession::prepare() {
  if (state_ != State::loaded) return {};
  if (!quantized_) executor_ = TRY(executor_for(*model_));
  state_ = State::prepared;
  return {};
}

Result<const std::string*> DeviceSession::hash() {
  if (hash_.empty()) hash_ = TRY(content_hash(*model_));
  return &hash_;
}

Result<std::string> DeviceSession::kept_file(const std::string& suffix) {
  if (workspace_ && workspace_->empty()) return std::string();
  if (!workspace_)
    return path_.empty() ? path_ : std::filesystem::path(path_).replace_extension(suffix).string();
  std::filesystem::path name = std::filesystem::path(path_).filename();
  // A model without a file is identified by its content hash.
  if (name.empty()) name = TRY(hash())->substr(0, 16);
  return (*workspace_ / name.replace_extension(suffix)).string();
}

anybit_model_kind DeviceSession::in_use() const {
  if (config_ & ANYBIT_GATHER_RANGES) return ANYBIT_MODEL_FLOAT;
  if (runs_generated()) return ANYBIT_MODEL_GENERATED;
  return quantized_ ? ANYBIT_MODEL_QUANTIZED : ANYBIT_MODEL_FLOAT;
}

}  // namespace anybit
