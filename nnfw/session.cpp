// Lifetime, configuration and runs of a session.
#include "session.hpp"

#include <charconv>
#include <limits>
#include <system_error>

#include "message.hpp"
#include "package.hpp"

namespace anybit::nnfw {

std::unique_ptr<Session> Session::make() {
  std::unique_ptr<Session> made(new Session());
  anybit_session* session = nullptr;
  if (anybit_create_session(&session) != ANYBIT_OK) return nullptr;
  made->session_.reset(session);
  return made;
}

anybit_status Session::close() {
  if (thread_.joinable()) thread_.join();
  return anybit_close_session(session_.release());
}

NNFW_STATUS Session::fail(NNFW_STATUS status, std::string message) {
  error_ = std::move(message);
  return status;
}

NNFW_STATUS Session::of(anybit_status status) {
  if (status == ANYBIT_OK) return NNFW_STATUS_NO_ERROR;
  error_ = in_onerts_words(anybit_last_error(session_.get()));
  if (status == ANYBIT_OUT_OF_MEMORY) return NNFW_STATUS_OUT_OF_MEMORY;
  return status == ANYBIT_INVALID_STATE ? NNFW_STATUS_INVALID_STATE : NNFW_STATUS_ERROR;
}

NNFW_STATUS Session::loaded(anybit_status status) {
  std::size_t inputs = 0, outputs = 0;
  if (status == ANYBIT_OK) status = anybit_input_count(session_.get(), &inputs);
  if (status == ANYBIT_OK) status = anybit_output_count(session_.get(), &outputs);
  if (status != ANYBIT_OK) return of(status);
  inputs_.resize(inputs);
  outputs_.resize(outputs);
  state_ = State::loaded;
  return NNFW_STATUS_NO_ERROR;
}

NNFW_STATUS Session::load_file(const std::string& path) {
  return loaded(anybit_load_model_from_file(session_.get(), path.c_str()));
}

NNFW_STATUS Session::load_path(const std::string& path) {
  const Package package = read_package(path);
  return package.error.empty() ? load_file(package.model) : fail(NNFW_STATUS_ERROR, package.error);
}

NNFW_STATUS Session::load_bytes(const void* bytes, std::size_t length) {
  return loaded(anybit_load_model_from_memory(session_.get(), bytes, length));
}

NNFW_STATUS Session::set_threads(const std::string& text) {
  std::int32_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < 1)
    return fail(NNFW_STATUS_ERROR, "NUM_THREADS is '" + text + "': a number from 1 would be right");
  const NNFW_STATUS status = of(anybit_set_threads(session_.get(), number));
  if (status == NNFW_STATUS_NO_ERROR) threads_ = text;
  return status;
}

NNFW_STATUS Session::set_backends(const char* names) {
  return of(anybit_set_available_backends(session_.get(), names));
}

NNFW_STATUS Session::set_config(NNFW_RUN_CONFIG key) {
  switch (key) {
    case NNFW_RUN_CONFIG_DUMP_MINMAX:
      return of(anybit_set_execute_config(session_.get(), ANYBIT_GATHER_RANGES));
    case NNFW_RUN_CONFIG_TRACE:
      return of(anybit_set_execute_config(session_.get(), ANYBIT_TRACE));
    case NNFW_RUN_CONFIG_PROFILE:
      return fail(NNFW_STATUS_ERROR, "no call returns a profile; NNFW_RUN_CONFIG_TRACE writes one to a file");
  }
  return fail(NNFW_STATUS_ERROR, "there is no such key; NNFW_RUN_CONFIG_… would be right");
}

NNFW_STATUS Session::prepare() {
  const NNFW_STATUS status = of(anybit_prepare(session_.get()));
  if (status == NNFW_STATUS_NO_ERROR) state_ = State::prepared;
  return status;
}

// Memory for outputs of known size that have no buffer.
anybit_status Session::make_own_outputs() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    if (output.given) continue;
    anybit_tensor_info info;
    anybit_status status = anybit_output_info(session_.get(), i, &info);
    const auto bytes = bytes_of(info, info.type);
    if (status == ANYBIT_OK && bytes) {
      // At least a byte: an address is needed for an output without elements, too.
      output.own.resize(*bytes + 1);
      status = anybit_set_output(session_.get(), i, info.type, output.own.data(), *bytes);
      output.type = info.type;
      output.length = *bytes;
    }
    if (status != ANYBIT_OK) return status;
  }
  return ANYBIT_OK;
}

// The size of an output may follow only from the run: a second one then has enough memory.
template <class Run>
anybit_status Session::with_outputs(const Run& run) {
  if (!keeps_outputs_) return run();
  anybit_status status = make_own_outputs();
  if (status == ANYBIT_OK) status = run();
  const auto lacks = [&] {
    for (const Output& one : outputs_) {
      if (!one.given && one.own.empty()) return true;
    }
    return false;
  };
  if (status == ANYBIT_OK ? !lacks() : !has_short_output()) return status;
  status = make_own_outputs();
  return status == ANYBIT_OK ? run() : status;
}

bool Session::has_short_output() const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    anybit_tensor_info info;
    if (outputs_[i].type == ANYBIT_TYPE_NONE || anybit_output_info(session_.get(), i, &info) != ANYBIT_OK)
      continue;
    const auto needed = bytes_of(info, outputs_[i].type);
    if (needed && *needed > outputs_[i].length) return true;
  }
  return false;
}

NNFW_STATUS Session::after_run(anybit_status status) {
  if (status == ANYBIT_OK) {
    state_ = State::ran;
    return NNFW_STATUS_NO_ERROR;
  }
  const NNFW_STATUS failed = of(status);
  return status == ANYBIT_INVALID_ARGUMENT && has_short_output() ? NNFW_STATUS_INSUFFICIENT_OUTPUT_SIZE
                                                                 : failed;
}

NNFW_STATUS Session::run() {
  const anybit_status prepared = anybit_prepare(session_.get());
  if (prepared != ANYBIT_OK) return of(prepared);
  return after_run(with_outputs([&] { return anybit_run(session_.get()); }));
}

NNFW_STATUS Session::start() {
  const anybit_status prepared = anybit_prepare(session_.get());
  if (prepared != ANYBIT_OK) return of(prepared);
  try {
    thread_ = std::thread([this]() noexcept {
      try {
        thread_status_ = with_outputs([&] { return anybit_run(session_.get()); });
      } catch (const std::bad_alloc&) {
        thread_status_ = ANYBIT_OUT_OF_MEMORY;
      }
    });
  } catch (const std::system_error& error) {
    return fail(NNFW_STATUS_ERROR, std::string("cannot start a thread: ") + error.what());
  }
  state_ = State::running;
  return NNFW_STATUS_NO_ERROR;
}

NNFW_STATUS Session::wait() {
  if (state_ != State::running) return fail(NNFW_STATUS_ERROR, "no run is under way: nnfw_run_async before");
  thread_.join();
  state_ = State::prepared;
  return after_run(thread_status_);
}

NNFW_STATUS Session::run_auto(const char* target, NNFW_CODEGEN_PREF preference) {
  const anybit_status prepared = anybit_prepare(session_.get());
  if (prepared != ANYBIT_OK) return of(prepared);
  // As in onert, no number of runs is enough until one is set.
  const std::int64_t threshold = threshold_ ? *threshold_ : std::numeric_limits<std::int64_t>::max();
  return after_run(with_outputs([&] {
    return anybit_run_with_auto_compilation(session_.get(), threshold, target,
                                            static_cast<anybit_preference>(preference));
  }));
}

}  // namespace anybit::nnfw
