// A session on a device: the behaviour of include/anybit/anybit.h, with Results instead of statuses. The C
// functions (api.cpp) check the state first; each part has a file of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "anybit/anybit.h"
#include "anybit/executor.hpp"
#include "anybit/quantize.hpp"
#include "device/codegen.hpp"
#include "device/gather.hpp"
#include "device/grid.hpp"
#include "device/ranges.hpp"
#include "device/record.hpp"

namespace anybit {

class DeviceSession {
 public:
  enum class State { created, loaded, prepared, ran };
  State state() const { return state_; }

  // load.cpp
  Result<void> load_file(const std::string& path);
  Result<void> load_bytes(std::span<const std::byte> bytes);
  Result<void> share(const DeviceSession& other);
  Result<void> prepare();
  Result<void> set_threads(int threads);
  Result<void> set_limit(anybit_limit limit, std::int64_t value);
  Result<void> set_reproducible(int wanted);
  Result<void> set_workspace(std::optional<std::string> folder);

  // ports.cpp
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  Result<anybit_tensor_info> input_info(std::size_t index) const;
  Result<anybit_tensor_info> output_info(std::size_t index) const;
  Result<void> set_input_shape(std::size_t index, std::span<const std::int64_t> dims);
  Result<void> set_input(std::size_t index, anybit_type type, const void* buffer, std::size_t length);
  Result<void> set_output(std::size_t index, anybit_type type, void* buffer, std::size_t length);

  // variables.cpp
  Result<void> add_variable(const std::string& name);
  Result<anybit_tensor_info> variable_info(const std::string& name) const;
  Result<void> get_variable(const std::string& name, anybit_type type, void* buffer,
                            std::size_t length) const;
  Result<void> set_variable(const std::string& name, anybit_type type, const void* buffer,
                            std::size_t length);

  // device_run.cpp
  Result<void> run();
  Result<void> set_config(std::uint32_t config);
  Result<void> reset_config();
  Result<const char*> profile();
  // Saves everything that is not saved yet.
  Result<void> save_all();

  Result<DeviceRanges*> ranges();

  // quantize.cpp
  Result<void> set_recipe(const std::string& text);
  void set_quantized_path(std::string path) { quantized_path_ = std::move(path); }
  Result<void> quantize();
  const char* quantized_path() const;

  // codegen.cpp
  Result<void> set_plugin_folder(const std::string& folder);
  void set_generated_path(std::string path) { generated_path_ = std::move(path); }
  Result<void> codegen(const std::string& generator, anybit_preference preference);
  Result<void> set_backends(const std::string& text);
  // Takes the backends from the environment variable BACKENDS; all if it is unset.
  void take_default_backends();
  const char* generated_path() const { return generated_ ? generated_->path().c_str() : nullptr; }

  // auto.cpp; `generator` is empty if no code is wanted.
  Result<void> run_auto(std::int64_t threshold, const std::string& generator, anybit_preference preference);

  anybit_model_kind in_use() const;

 private:
  // The caller's buffer for an input or output; input buffers are only read.
  struct Buffer {
    anybit_type type = ANYBIT_TYPE_NONE;
    std::byte* bytes = nullptr;  // null: not set
    std::size_t length = 0;
    std::vector<std::int64_t> dims;  // inputs: as set; outputs: of the last run
    bool has_dims = false;
  };
  struct Grids {
    std::vector<Grid> inputs, outputs;
  };
  struct Quantized {
    std::string path;    // empty: in memory only
    std::string recipe;  // that it was quantized with
    bool reproducible;
    Model model;
    Executor executor;
    Grids grids;
  };

  Result<void> take(Model model, std::string path);
  // The path of a file that belongs to the model: "model.ranges.json" in the workspace. Empty if nothing is
  // kept.
  Result<std::string> kept_file(const std::string& suffix);
  Result<const std::string*> hash();
  Result<Executor> executor_for(const Model& model) const;
  Grids grids_of(const Model& model) const;
  // Quantization parameters of inputs and outputs, of the quantized model if there is one.
  const Grids& grids() const { return quantized_ ? quantized_->grids : grids_; }

  Result<std::vector<std::int64_t>> input_dims(std::size_t index) const;
  Result<Value> input_value(std::size_t index) const;
  Result<std::map<std::string, Value>> input_values() const;
  // Rejects a buffer that cannot hold the input or output.
  Result<void> check_input(std::size_t index, anybit_type type, std::size_t length) const;
  Result<void> check_output(std::size_t index, anybit_type type, std::size_t length) const;
  Result<void> check_result(std::size_t index, const Value& value) const;
  void write_output(std::size_t index, const Value& value) const;
  Result<void> deliver(const std::vector<Value>& values);

  // An error if the session has variables, since their values would not take effect in what is `wanted`.
  Result<void> check_no_variables(const char* wanted) const;
  Result<const Port*> variable(const std::string& name) const;
  // The same, with a check that the buffer fits.
  Result<const Port*> variable(const std::string& name, anybit_type type, std::size_t length) const;

  Result<void> run_and_gather();
  Result<void> run_in_use();
  Result<void> check_defaults() const;
  bool keeps_times() const;
  void keep_times(RunProfile profile);
  Result<void> save_trace();

  // With the current recipe.
  Result<Quantized> make_quantized(std::string path, Model model) const;
  std::string quantized_file() const;
  CodegenOptions codegen_options(anybit_preference preference) const;
  bool may_run(std::string_view backend) const;
  bool runs_generated() const;
  // An error if none of the permitted backends can run the model.
  Result<void> check_backend() const;

  Result<void> adopt(const std::string& generator, anybit_preference preference);
  Result<void> note_compiled();
  Result<void> drop_stale();

  State state_ = State::created;
  int threads_ = 0;
  LoadOptions load_;
  std::int64_t max_memory_ = 0;
  bool reproducible_ = false;             // for results that go into files
  std::optional<std::string> workspace_;  // unset: beside the model; empty: none
  std::optional<Recipe> recipe_;
  std::string recipe_text_;  // the text of recipe_
  std::string quantized_path_, generated_path_, plugin_folder_;
  std::optional<std::vector<std::string>> backends_;  // permitted; empty: all; unset: not decided yet

  std::optional<Model> model_;  // as loaded
  std::string path_;            // empty: loaded from memory
  std::string hash_;            // of the content; computed on demand
  std::vector<Port> inputs_, outputs_;
  Grids grids_;
  std::vector<Buffer> input_buffers_, output_buffers_;
  std::vector<std::string> variables_;
  std::optional<Executor> executor_;
  std::optional<Quantized> quantized_;
  std::shared_ptr<GeneratedModel> generated_;  // from the quantized model, or from the float model
  bool looked_for_record_ = false;

  std::uint32_t config_ = 0;
  std::optional<Gatherer> gatherer_;
  std::optional<DeviceRanges> ranges_;
  bool profiled_ = false;  // whether the last run was profiled
  RunProfile last_profile_;
  std::string profile_text_;
  std::vector<RunProfile> trace_;
  std::size_t traced_nodes_ = 0;
};

// Adds the file's name to the error, unless it comes from the operating system and names the file already.
Error in_file(Error error, const std::string& path);

}  // namespace anybit
