// A session of onert's API over one of anybit (anybit/anybit.h). The C functions check pointers and the state
// first (call.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "anybit/anybit.h"
#include "nnfw/nnfw.h"

namespace anybit::nnfw {

// `replaced`: quantization or code generation put another model in place, which may be prepared or run.
enum class State { created, loaded, replaced, prepared, ran, running };

class Session {
 public:
  static std::unique_ptr<Session> make();  // null: no memory
  ~Session() { close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  State state() const { return state_; }
  const std::string& error() const { return error_; }
  NNFW_STATUS fail(NNFW_STATUS status, std::string message);
  // The status of a call of anybit, whose message is kept.
  NNFW_STATUS of(anybit_status status);

  // session.cpp
  // Waits for a run, and saves what is not saved yet. No other call may follow.
  anybit_status close();
  NNFW_STATUS load_file(const std::string& path);
  NNFW_STATUS load_path(const std::string& path);  // a file, or an nnpackage
  NNFW_STATUS load_bytes(const void* bytes, std::size_t length);
  NNFW_STATUS set_workspace(const char* folder) { return of(anybit_set_workspace(session_.get(), folder)); }
  NNFW_STATUS set_threads(const std::string& text);
  const std::string& threads() const { return threads_; }
  NNFW_STATUS set_backends(const char* names);
  NNFW_STATUS set_config(NNFW_RUN_CONFIG key);
  NNFW_STATUS reset_config() { return of(anybit_reset_execute_config(session_.get())); }
  void keep_outputs(bool wanted) { keeps_outputs_ = wanted; }
  NNFW_STATUS prepare();
  NNFW_STATUS run();
  NNFW_STATUS start();  // in a thread
  NNFW_STATUS wait();

  // ports.cpp
  std::uint32_t input_count() const { return static_cast<std::uint32_t>(inputs_.size()); }
  std::uint32_t output_count() const { return static_cast<std::uint32_t>(outputs_.size()); }
  NNFW_STATUS input_info(std::uint32_t index, nnfw_tensorinfo* info);
  NNFW_STATUS output_info(std::uint32_t index, nnfw_tensorinfo* info);
  NNFW_STATUS input_index(const std::string& name, std::uint32_t* index);
  NNFW_STATUS output_index(const std::string& name, std::uint32_t* index);
  NNFW_STATUS set_input_shape(std::uint32_t index, const nnfw_tensorinfo& info);
  NNFW_STATUS set_input(std::uint32_t index, NNFW_TYPE type, const void* bytes, std::size_t length);
  NNFW_STATUS set_output(std::uint32_t index, NNFW_TYPE type, void* bytes, std::size_t length);
  NNFW_STATUS check_input_type(std::uint32_t index, NNFW_TYPE type);
  NNFW_STATUS check_output_type(std::uint32_t index, NNFW_TYPE type);
  NNFW_STATUS get_output(std::uint32_t index, nnfw_tensorinfo* info, const void** bytes);

  // compile.cpp
  NNFW_STATUS set_quantization_type(NNFW_QUANTIZE_TYPE type);
  NNFW_STATUS set_quantized_path(const char* path);
  NNFW_STATUS quantize();
  NNFW_STATUS set_generated_path(const char* path);
  NNFW_STATUS codegen(const char* target, NNFW_CODEGEN_PREF preference);
  NNFW_STATUS set_threshold(int runs);
  NNFW_STATUS delete_ranges() { return of(anybit_reset_ranges(session_.get())); }
  NNFW_STATUS run_auto(const char* target, NNFW_CODEGEN_PREF preference);

 private:
  struct Input {
    NNFW_TYPE type = NNFW_TYPE_TENSOR_FLOAT32;
    const void* bytes = nullptr;  // null: not set
    std::size_t length = 0;
  };
  struct Output {
    bool given = false;  // the caller's buffer
    std::size_t length = 0;
    anybit_type type = ANYBIT_TYPE_NONE;
    std::vector<std::byte> own;  // without one, for nnfw_get_output()
  };
  struct Close {
    void operator()(anybit_session* session) const { anybit_close_session(session); }
  };

  Session() = default;
  NNFW_STATUS loaded(anybit_status status);
  // Calls `run`, an anybit_run…(), with memory for the outputs that are kept.
  template <class Run>
  anybit_status with_outputs(const Run& run);
  anybit_status make_own_outputs();
  bool has_short_output() const;
  NNFW_STATUS after_run(anybit_status status);

  NNFW_STATUS check_index(std::uint32_t index, std::size_t count, const char* what);
  NNFW_STATUS fill(const anybit_tensor_info& from, nnfw_tensorinfo* info);
  NNFW_STATUS check_type(const anybit_tensor_info& info, NNFW_TYPE type);
  anybit_status give_input(std::uint32_t index, const anybit_tensor_info& info);

  std::unique_ptr<anybit_session, Close> session_;
  State state_ = State::created;
  std::string error_, threads_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  bool keeps_outputs_ = false;
  std::optional<int> threshold_;  // of run_auto()
  std::thread thread_;            // of start()
  anybit_status thread_status_ = ANYBIT_OK;
};

// The type of a buffer of anybit; ANYBIT_TYPE_NONE: there is none.
anybit_type type_of(NNFW_TYPE type);
// The elements of a tensor times their size, in bytes; empty if a dimension is unknown or the product is too
// large.
std::optional<std::size_t> bytes_of(const anybit_tensor_info& info, anybit_type type);

}  // namespace anybit::nnfw
