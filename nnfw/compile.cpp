// Quantization and code generation.
#include "session.hpp"

namespace anybit::nnfw {

static_assert(static_cast<int>(NNFW_CODEGEN_PREF_DEFAULT) == ANYBIT_PREFER_DEFAULT &&
              static_cast<int>(NNFW_CODEGEN_PREF_PERFORMANCE_FIRST) == ANYBIT_PREFER_PERFORMANCE &&
              static_cast<int>(NNFW_CODEGEN_PREF_MEMORY_FIRST) == ANYBIT_PREFER_MEMORY &&
              static_cast<int>(NNFW_CODEGEN_PREF_COMPILE_TIME_FIRST) == ANYBIT_PREFER_COMPILE_TIME);

NNFW_STATUS Session::set_quantization_type(NNFW_QUANTIZE_TYPE type) {
  switch (type) {
    case NNFW_QUANTIZE_TYPE_U8_ASYM:
      return of(anybit_set_quantization_type(session_.get(), ANYBIT_QUANTIZE_U8_ASYM));
    case NNFW_QUANTIZE_TYPE_I16_SYM:
      return of(anybit_set_quantization_type(session_.get(), ANYBIT_QUANTIZE_I16_SYM));
    case NNFW_QUANTIZE_TYPE_WO_I8_SYM:
      return of(anybit_set_quantization_type(session_.get(), ANYBIT_QUANTIZE_WO_I8_SYM));
    case NNFW_QUANTIZE_TYPE_WO_I16_SYM:
      return of(anybit_set_quantization_type(session_.get(), ANYBIT_QUANTIZE_WO_I16_SYM));
    case NNFW_QUANTIZE_TYPE_NOT_SET:
      break;
  }
  return fail(NNFW_STATUS_ERROR, "there is no such quantization type; NNFW_QUANTIZE_TYPE_… would be right");
}

NNFW_STATUS Session::set_quantized_path(const char* path) {
  return of(anybit_set_quantized_model_path(session_.get(), path));
}

NNFW_STATUS Session::quantize() {
  const NNFW_STATUS status = of(anybit_quantize(session_.get()));
  if (status == NNFW_STATUS_NO_ERROR) state_ = State::replaced;
  return status;
}

NNFW_STATUS Session::set_generated_path(const char* path) {
  return of(anybit_set_codegen_model_path(session_.get(), path));
}

NNFW_STATUS Session::codegen(const char* target, NNFW_CODEGEN_PREF preference) {
  const NNFW_STATUS status =
      of(anybit_codegen(session_.get(), target, static_cast<anybit_preference>(preference)));
  if (status == NNFW_STATUS_NO_ERROR) state_ = State::replaced;
  return status;
}

NNFW_STATUS Session::set_threshold(int runs) {
  if (runs < 1) return fail(NNFW_STATUS_ERROR, "a number of runs below 1");
  threshold_ = runs;
  return NNFW_STATUS_NO_ERROR;
}

}  // namespace anybit::nnfw
