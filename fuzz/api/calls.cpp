// Calls of the C API in any order, with odd arguments, on three sessions. The input: the number of calls,
// three bytes per call, and the bytes of a model. No call may crash or return an unknown status; a call that
// fails gives a message; buffers are accessed within their length (checked by AddressSanitizer); two runs in
// a row give the same bytes.
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "../scratch_folder.hpp"
#include "anybit/anybit.h"

namespace {

constexpr int kSessions = 3;
constexpr std::size_t kMostCalls = 40;

const char* path(std::uint8_t choice) {
  static const std::string file = scratch_folder() + "/q.onnx", below = scratch_folder() + "/no/such/q.onnx",
                           odd = scratch_folder() + "/\xff";
  static const std::array<const char*, 6> all{
      nullptr, "", file.c_str(), scratch_folder().c_str(), below.c_str(), odd.c_str()};
  return all[choice % all.size()];
}

std::int64_t number(std::uint8_t choice) {
  static constexpr std::array<std::int64_t, 12> kAll{1, 2,  3,         0,         -1,        7,
                                                     8, 64, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  return kAll[choice % kAll.size()];
}

const char* recipe(std::uint8_t choice) {
  static constexpr std::array<const char*, 8> kAll{
      nullptr, "", "int8", "w4", "dynamic-int8", "mxfp4", "global: float", "type: {Gemm: [1, {}]}"};
  return kAll[choice % kAll.size()];
}

struct One {
  anybit_session* session = nullptr;
  // Each of exactly the length that was passed to the session.
  std::array<std::unique_ptr<std::byte[]>, 4> inputs, outputs;
  std::array<std::size_t, 4> lengths{};

  ~One() { anybit_close_session(session); }

  anybit_status set_buffer(bool input, std::uint8_t a, std::uint8_t b) {
    const std::size_t index = a % 4, length = b % 7 == 6 ? static_cast<std::size_t>(b) : 16u * (b % 8u);
    const auto type = static_cast<anybit_type>(a / 4 % 28);
    auto buffer = std::make_unique<std::byte[]>(length);
    for (std::size_t i = 0; i < length; ++i) buffer[i] = static_cast<std::byte>(b % 2 == 0 ? 0 : a * i);
    const anybit_status status = input ? anybit_set_input(session, index, type, buffer.get(), length)
                                       : anybit_set_output(session, index, type, buffer.get(), length);
    if (status != ANYBIT_OK) return status;
    if (!input) lengths[index] = length;
    (input ? inputs : outputs)[index] = std::move(buffer);
    return status;
  }

  anybit_status run_twice() {
    const anybit_status first = anybit_run(session);
    if (first != ANYBIT_OK) return first;
    std::array<std::vector<std::byte>, 4> before;
    for (std::size_t i = 0; i < 4; ++i)
      before[i].assign(outputs[i].get(), outputs[i].get() + (outputs[i] ? lengths[i] : 0));
    require(anybit_run(session) == ANYBIT_OK, "a second run must succeed", anybit_last_error(session));
    for (std::size_t i = 0; i < 4; ++i)
      require(before[i].empty() || std::memcmp(before[i].data(), outputs[i].get(), before[i].size()) == 0,
              "the same inputs must give the same outputs");
    return ANYBIT_OK;
  }
};

using All = std::array<One, kSessions>;

anybit_status call(All& all, const std::uint8_t* words, const std::string& model) {
  const std::uint8_t a = words[1], b = words[2];
  One& one = all[words[0] % kSessions];
  anybit_session*& session = one.session;
  std::size_t count = 0;
  std::int64_t runs = 0;
  anybit_tensor_info info;
  const char* text = nullptr;
  anybit_model_kind kind;
  const std::int64_t dims[3] = {number(a), number(b), number(a ^ b)};
  switch (words[0] / kSessions) {
    case 0: {
      anybit_close_session(session);
      return anybit_create_session(&session);
    }
    case 1:
      return anybit_load_model_from_memory(session, model.data(), b == 0 ? model.size() / 2 : model.size());
    case 2:
      return anybit_load_model_from_file(session, path(a));
    case 3:
      return anybit_share_model(session, all[a % kSessions].session);
    case 4:
      return anybit_set_threads(session, a % 4 == 0 ? static_cast<std::int32_t>(number(b)) % 5 : a % 4);
    case 5:
      return anybit_set_workspace(session, path(a));
    case 6:
      return anybit_prepare(session);
    case 7:
      return anybit_input_count(session, &count);
    case 8:
      return anybit_output_count(session, &count);
    case 9:
      return anybit_input_info(session, a % 5, &info);
    case 10:
      return anybit_output_info(session, a % 5, &info);
    case 11:
      return anybit_set_input_shape(session, a % 4, b % 5 - 1, dims);
    case 12:
    case 13:
      return one.set_buffer(true, a, b);
    case 14:
    case 15:
      return one.set_buffer(false, a, b);
    case 16:
    case 17:
    case 18:
      return one.run_twice();
    case 19:
      return anybit_set_execute_config(session, a % 5);
    case 20:
      return anybit_reset_execute_config(session);
    case 21:
      return anybit_profile(session, &text);
    case 22:
      return anybit_ranges_runs(session, &runs);
    case 23:
      return anybit_save_ranges(session);
    case 24:
      return anybit_reset_ranges(session);
    case 25:
      return anybit_set_quantization_type(session, static_cast<anybit_quantization_type>(a % 8));
    case 26:
      return anybit_set_quantization_recipe(session, recipe(a));
    case 27:
      return anybit_set_quantized_model_path(session, path(a));
    case 28:
    case 29:
      return anybit_quantize(session);
    case 30:
      return anybit_quantized_model_path(session, &text);
    case 31:
      return anybit_set_plugin_directory(session, path(a));
    case 32:
      return anybit_set_codegen_model_path(session, path(a));
    case 33:
      return anybit_codegen(session, a % 2 == 0 ? recipe(b) : "c-gen", static_cast<anybit_preference>(b % 5));
    case 34:
      return anybit_codegen_model_path(session, &text);
    case 35:
      return anybit_set_available_backends(session, recipe(a));
    case 36:
    case 37:
      return anybit_run_with_auto_compilation(session, number(a), nullptr, ANYBIT_PREFER_DEFAULT);
    case 38:
      return anybit_model_in_use(session, &kind);
    default:
      return ANYBIT_OK;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 1) return 0;
  const std::size_t calls = data[0] % (kMostCalls + 1);
  if (size < 1 + 3 * calls) return 0;
  const std::string model(reinterpret_cast<const char*>(data) + 1 + 3 * calls, size - 1 - 3 * calls);
  All all;
  for (One& one : all) {
    require(anybit_create_session(&one.session) == ANYBIT_OK, "a session");
    require(anybit_set_workspace(one.session, "") == ANYBIT_OK, "no workspace");
    require(anybit_set_threads(one.session, 1) == ANYBIT_OK, "one thread");
  }
  for (std::size_t i = 0; i < calls; ++i) {
    const std::uint8_t* const words = data + 1 + 3 * i;
    const anybit_status status = call(all, words, model);
    require(status >= ANYBIT_OK && status <= ANYBIT_INVALID_DATA, "an unknown status");
    const char* const said = anybit_last_error(all[words[0] % kSessions].session);
    require(status == ANYBIT_OK || (said && *said), "an error without a message");
  }
  for (const auto& entry : std::filesystem::directory_iterator(scratch_folder()))
    std::filesystem::remove_all(entry.path());
  return 0;
}
