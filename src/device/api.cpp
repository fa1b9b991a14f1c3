// The functions of include/anybit/anybit.h: they check arguments and state, call the session, and turn errors
// into a status and a text.
#include "anybit/version.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "device/session.hpp"

using anybit::Code;
using anybit::DeviceSession;
using anybit::Error;
using anybit::Result;
using State = DeviceSession::State;

struct anybit_session {
  DeviceSession inner;
  // `const char*`, since there may be no memory left for a string.
  mutable const char* error = "";
  mutable std::string error_text;
};

namespace {

static_assert(ANYBIT_INVALID_DATA == static_cast<int>(Code::invalid_data) &&
              ANYBIT_INVALID_STATE == static_cast<int>(Code::invalid_state) &&
              ANYBIT_OUT_OF_MEMORY == static_cast<int>(Code::out_of_memory));

// The states in which a call is allowed: the table in the header.
constexpr unsigned in(State state) { return 1U << static_cast<int>(state); }
constexpr unsigned kAlways = in(State::created) | in(State::loaded) | in(State::prepared) | in(State::ran);
constexpr unsigned kFirst = in(State::created);
constexpr unsigned kEarly = in(State::created) | in(State::loaded);
constexpr unsigned kLoaded = in(State::loaded) | in(State::prepared) | in(State::ran);
constexpr unsigned kPrepared = in(State::prepared) | in(State::ran);
constexpr unsigned kRan = in(State::ran);

anybit_status fail(const anybit_session& session, const Error& error) noexcept {
  const auto kept = anybit::guarded([&]() -> Result<void> {
    session.error_text = error.text();
    return {};
  });
  session.error = kept.ok() ? session.error_text.c_str() : "out of memory";
  return static_cast<anybit_status>(error.code);
}

Error wrong_state(State state) {
  switch (state) {
    case State::created:
      return anybit::error_at(Code::invalid_state, {}, "the session has no model yet",
                              "anybit_load_model_from_file or anybit_load_model_from_memory before");
    case State::loaded:
      return anybit::error_at(Code::invalid_state, {}, "the model is loaded, not prepared or run",
                              "anybit_prepare before a run; a session has one model for all its life");
    default:
      return anybit::error_at(Code::invalid_state, {}, "the model is prepared already, or has not run yet",
                              "the table of states in anybit/anybit.h");
  }
}

// Runs the body if the state allows it. Only std::bad_alloc can be thrown, and it is caught here.
template <class Body>
anybit_status call(const anybit_session* session, unsigned states, Body body) noexcept {
  if (!session) return ANYBIT_INVALID_ARGUMENT;
  const auto done = anybit::guarded([&]() -> Result<void> {
    if ((states & in(session->inner.state())) == 0) return wrong_state(session->inner.state());
    return body();
  });
  return done.ok() ? ANYBIT_OK : fail(*session, done.error());
}

Error null_pointer(const char* what) { return anybit::invalid_argument(fmt::format("{} is NULL", what)); }

// Writes the answer of a query to the caller's pointer.
template <class T>
Result<void> give(Result<T> value, T* target, const char* name) {
  if (!value.ok()) return std::move(value).error();
  if (!target) return null_pointer(name);
  *target = std::move(value).value();
  return {};
}

const char* recipe_of(anybit_quantization_type type) {
  switch (type) {
    case ANYBIT_QUANTIZE_U8_ASYM:
      return "uint8";
    case ANYBIT_QUANTIZE_I8_ASYM:
      return "int8";
    case ANYBIT_QUANTIZE_I16_SYM:
      return "int16";
    case ANYBIT_QUANTIZE_WO_I8_SYM:
      return "w8";
    case ANYBIT_QUANTIZE_WO_I16_SYM:
      return "w16";
  }
  return nullptr;
}

}  // namespace

extern "C" {

const char* anybit_version(void) { return anybit::version().text.data(); }

anybit_status anybit_create_session(anybit_session** session) {
  if (!session) return ANYBIT_INVALID_ARGUMENT;
  *session = new (std::nothrow) anybit_session();
  return *session ? ANYBIT_OK : ANYBIT_OUT_OF_MEMORY;
}

anybit_status anybit_close_session(anybit_session* session) {
  if (!session) return ANYBIT_OK;
  const anybit_status saved = call(session, kAlways, [&] { return session->inner.save_all(); });
  delete session;
  return saved;
}

const char* anybit_last_error(const anybit_session* session) { return session ? session->error : ""; }

anybit_status anybit_load_model_from_file(anybit_session* session, const char* path) {
  return call(session, kFirst, [&]() -> Result<void> {
    if (!path) return null_pointer("the path");
    return session->inner.load_file(path);
  });
}

anybit_status anybit_load_model_from_memory(anybit_session* session, const void* bytes, size_t length) {
  return call(session, kFirst, [&]() -> Result<void> {
    if (!bytes) return null_pointer("the model");
    return session->inner.load_bytes({static_cast<const std::byte*>(bytes), length});
  });
}

anybit_status anybit_share_model(anybit_session* session, const anybit_session* other) {
  return call(session, kFirst, [&]() -> Result<void> {
    if (!other) return null_pointer("the other session");
    return session->inner.share(other->inner);
  });
}

anybit_status anybit_set_threads(anybit_session* session, int32_t threads) {
  return call(session, kEarly, [&] { return session->inner.set_threads(threads); });
}

anybit_status anybit_set_limit(anybit_session* session, anybit_limit limit, int64_t value) {
  return call(session, kFirst, [&] { return session->inner.set_limit(limit, value); });
}

anybit_status anybit_set_reproducible(anybit_session* session, int32_t wanted) {
  return call(session, kEarly, [&] { return session->inner.set_reproducible(wanted); });
}

anybit_status anybit_set_workspace(anybit_session* session, const char* folder) {
  return call(session, kEarly, [&] {
    return session->inner.set_workspace(folder ? std::optional<std::string>(folder) : std::nullopt);
  });
}

anybit_status anybit_add_variable(anybit_session* session, const char* name) {
  return call(session, in(State::loaded), [&]() -> Result<void> {
    if (!name) return null_pointer("the name");
    return session->inner.add_variable(name);
  });
}

anybit_status anybit_prepare(anybit_session* session) {
  return call(session, kLoaded, [&] { return session->inner.prepare(); });
}

anybit_status anybit_input_count(const anybit_session* session, size_t* count) {
  return call(session, kLoaded, [&] {
    return give<size_t>(session->inner.inputs().size(), count, "the pointer to the count");
  });
}

anybit_status anybit_output_count(const anybit_session* session, size_t* count) {
  return call(session, kLoaded, [&] {
    return give<size_t>(session->inner.outputs().size(), count, "the pointer to the count");
  });
}

anybit_status anybit_input_info(const anybit_session* session, size_t index, anybit_tensor_info* info) {
  return call(session, kLoaded,
              [&] { return give(session->inner.input_info(index), info, "the pointer to the info"); });
}

anybit_status anybit_output_info(const anybit_session* session, size_t index, anybit_tensor_info* info) {
  return call(session, kLoaded,
              [&] { return give(session->inner.output_info(index), info, "the pointer to the info"); });
}

anybit_status anybit_set_input_shape(anybit_session* session, size_t index, int32_t rank,
                                     const int64_t* dims) {
  return call(session, kLoaded, [&]() -> Result<void> {
    if (rank < 0 || rank > ANYBIT_MOST_DIMENSIONS)
      return anybit::invalid_argument(fmt::format("{} dimensions", rank),
                                      fmt::format("0 to {}", ANYBIT_MOST_DIMENSIONS));
    if (!dims && rank > 0) return null_pointer("the shape");
    return session->inner.set_input_shape(index, {dims, static_cast<std::size_t>(rank)});
  });
}

anybit_status anybit_set_input(anybit_session* session, size_t index, anybit_type type, const void* buffer,
                               size_t length) {
  return call(session, kLoaded, [&] { return session->inner.set_input(index, type, buffer, length); });
}

anybit_status anybit_set_output(anybit_session* session, size_t index, anybit_type type, void* buffer,
                                size_t length) {
  return call(session, kLoaded, [&] { return session->inner.set_output(index, type, buffer, length); });
}

anybit_status anybit_variable_info(const anybit_session* session, const char* name,
                                   anybit_tensor_info* info) {
  return call(session, kPrepared, [&]() -> Result<void> {
    if (!name) return null_pointer("the name");
    return give(session->inner.variable_info(name), info, "the pointer to the info");
  });
}

anybit_status anybit_get_variable(const anybit_session* session, const char* name, anybit_type type,
                                  void* buffer, size_t length) {
  return call(session, kPrepared, [&]() -> Result<void> {
    if (!name || !buffer) return null_pointer(name ? "the buffer" : "the name");
    return session->inner.get_variable(name, type, buffer, length);
  });
}

anybit_status anybit_set_variable(anybit_session* session, const char* name, anybit_type type,
                                  const void* buffer, size_t length) {
  return call(session, kPrepared, [&]() -> Result<void> {
    if (!name || !buffer) return null_pointer(name ? "the buffer" : "the name");
    return session->inner.set_variable(name, type, buffer, length);
  });
}

anybit_status anybit_run(anybit_session* session) {
  return call(session, kPrepared, [&] { return session->inner.run(); });
}

anybit_status anybit_set_execute_config(anybit_session* session, uint32_t config) {
  return call(session, kLoaded, [&] { return session->inner.set_config(config); });
}

anybit_status anybit_reset_execute_config(anybit_session* session) {
  return call(session, kLoaded, [&] { return session->inner.reset_config(); });
}

anybit_status anybit_profile(anybit_session* session, const char** json) {
  return call(session, kRan, [&] { return give(session->inner.profile(), json, "the pointer to the text"); });
}

anybit_status anybit_ranges_runs(anybit_session* session, int64_t* runs) {
  return call(session, kLoaded, [&]() -> Result<void> {
    auto ranges = session->inner.ranges();
    if (!ranges.ok()) return std::move(ranges).error();
    return give((*ranges)->runs(), runs, "the pointer to the number");
  });
}

anybit_status anybit_save_ranges(anybit_session* session) {
  return call(session, kLoaded, [&]() -> Result<void> {
    auto ranges = session->inner.ranges();
    return ranges.ok() ? (*ranges)->save() : std::move(ranges).error();
  });
}

anybit_status anybit_reset_ranges(anybit_session* session) {
  return call(session, kLoaded, [&]() -> Result<void> {
    auto ranges = session->inner.ranges();
    return ranges.ok() ? (*ranges)->reset() : std::move(ranges).error();
  });
}

anybit_status anybit_set_quantization_type(anybit_session* session, anybit_quantization_type type) {
  return call(session, kAlways, [&]() -> Result<void> {
    const char* recipe = recipe_of(type);
    if (!recipe)
      return anybit::invalid_argument(fmt::format("there is no quantization type {}", static_cast<int>(type)),
                                      "one of ANYBIT_QUANTIZE_…");
    return session->inner.set_recipe(recipe);
  });
}

anybit_status anybit_set_quantization_recipe(anybit_session* session, const char* recipe) {
  return call(session, kAlways, [&]() -> Result<void> {
    if (!recipe) return null_pointer("the recipe");
    return session->inner.set_recipe(recipe);
  });
}

anybit_status anybit_set_quantized_model_path(anybit_session* session, const char* path) {
  return call(session, kAlways, [&]() -> Result<void> {
    session->inner.set_quantized_path(path ? path : "");
    return {};
  });
}

anybit_status anybit_quantize(anybit_session* session) {
  return call(session, kLoaded, [&] { return session->inner.quantize(); });
}

anybit_status anybit_quantized_model_path(const anybit_session* session, const char** path) {
  return call(session, kLoaded, [&] {
    return give<const char*>(session->inner.quantized_path(), path, "the pointer to the path");
  });
}

anybit_status anybit_set_plugin_directory(anybit_session* session, const char* folder) {
  return call(session, kAlways, [&] { return session->inner.set_plugin_folder(folder ? folder : ""); });
}

anybit_status anybit_set_codegen_model_path(anybit_session* session, const char* path) {
  return call(session, kAlways, [&]() -> Result<void> {
    session->inner.set_generated_path(path ? path : "");
    return {};
  });
}

anybit_status anybit_codegen(anybit_session* session, const char* generator, anybit_preference preference) {
  return call(session, kLoaded, [&]() -> Result<void> {
    if (!generator) return null_pointer("the generator");
    return session->inner.codegen(generator, preference);
  });
}

anybit_status anybit_codegen_model_path(const anybit_session* session, const char** path) {
  return call(session, kLoaded, [&] {
    return give<const char*>(session->inner.generated_path(), path, "the pointer to the path");
  });
}

anybit_status anybit_set_available_backends(anybit_session* session, const char* names) {
  return call(session, kAlways, [&]() -> Result<void> {
    if (names) return session->inner.set_backends(names);
    session->inner.take_default_backends();
    return {};
  });
}

anybit_status anybit_run_with_auto_compilation(anybit_session* session, int64_t threshold,
                                               const char* generator, anybit_preference preference) {
  return call(session, kPrepared,
              [&] { return session->inner.run_auto(threshold, generator ? generator : "", preference); });
}

anybit_status anybit_model_in_use(const anybit_session* session, anybit_model_kind* kind) {
  return call(session, kLoaded, [&] {
    return give<anybit_model_kind>(session->inner.in_use(), kind, "the pointer to the kind");
  });
}

}  // extern "C"
