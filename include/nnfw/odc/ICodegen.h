/// @file
/// The interface of onert's code generators, in C++: the class that a plugin lib<name>-gen.so derives from.
/// anybit loads such plugins as they are; see docs/codegen.md. The order of the virtual functions is the ABI.
///
/// A plugin exports two C functions:
///
/// @code{.cpp}
/// extern "C" onert::odc::ICodegen* create_codegen();
/// extern "C" void destroy_codegen(onert::odc::ICodegen*);
/// @endcode
#pragma once

#ifdef __cplusplus
namespace onert::odc {

class ICodegen {
 public:
  virtual ~ICodegen() = default;
  /// Reads the model file `in` and writes the file `out`. Returns 0 on success.
  virtual int codegen(const char* in, const char* out) const = 0;
};

}  // namespace onert::odc
#endif
