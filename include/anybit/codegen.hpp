/// @file
/// The interface of code generators: a plugin is a shared library lib<name>-gen.so that turns models into
/// files for a backend. The interface consists of plain C types: a plugin may be written in C or C++, with
/// any compiler. See docs/codegen.md for building and installing one. The end of this file is the C++ API
/// that runs generators.
///
/// @code{.c}
/// #include <stdio.h>
/// #include <string.h>
///
/// #include "anybit/codegen.hpp"
///
/// static int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
///                     anybit_text* error) {
///   static const char message[] = "cannot write the file";
///   FILE* file = fopen(path, "w");
///   (void)options;
///   if (!file) {
///     error->write(error->target, message, strlen(message));
///     return 1;
///   }
///   for (size_t i = 0; i < view->graph->node_count; ++i) fprintf(file, "%s\n", view->graph->nodes[i].op);
///   return fclose(file);
/// }
///
/// static const anybit_codegen_plugin plugin = {
///     .abi = ANYBIT_CODEGEN_ABI, .name = "abc-gen", .extension = ".abc", .generate = generate};
///
/// const anybit_codegen_plugin* anybit_codegen_entry(void) { return &plugin; }
/// @endcode
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "anybit/preference.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this interface, raised with every change of a structure below. The host accepts plugins
/// that were built for this version or an earlier one, and rejects others. Version 2 added
/// anybit_codegen_plugin::backend.
#define ANYBIT_CODEGEN_ABI 2

/// Text that a plugin passes to the host, such as an error message. `write(target, …)` appends to it.
typedef struct anybit_text {
  void* target;
  void (*write)(void* target, const char* bytes, size_t count);
} anybit_text;

// ---- The model. Read-only, and valid until generate() returns.

/// The kind of an attribute.
typedef enum anybit_attribute_kind ANYBIT_ENUM_TYPE {
  ANYBIT_ATTRIBUTE_INT = 1,
  ANYBIT_ATTRIBUTE_FLOAT = 2,
  ANYBIT_ATTRIBUTE_TEXT = 3,
  ANYBIT_ATTRIBUTE_INTS = 4,
  ANYBIT_ATTRIBUTE_FLOATS = 5,
  ANYBIT_ATTRIBUTE_TEXTS = 6,
  ANYBIT_ATTRIBUTE_TENSOR = 7,
  ANYBIT_ATTRIBUTE_GRAPH = 8,
  ANYBIT_ATTRIBUTE_OTHER = 9
} anybit_attribute_kind;

struct anybit_graph;

/// A value of a graph: an input, a constant, or the output of a node.
typedef struct anybit_value {
  const char* name;
  const char* type;     ///< "float32", "int8", "uint4", …; empty if it is not a tensor
  int32_t rank;         ///< -1: unknown
  const int64_t* dims;  ///< -1: unknown
  const void* data;  ///< of a constant: little-endian, elements of fewer than 8 bits packed; otherwise NULL
  size_t bytes;      ///< of `data`
  /// Quantization parameters: real value = (element - zero point) * scale. `scales` is NULL if the value is
  /// not quantized, or if its parameters are not constants.
  size_t scale_count;  ///< 1, or one per index along `axis`
  const float* scales;
  const int32_t* zero_points;  ///< `scale_count` of them; NULL: all zero
  int32_t axis;                ///< of per-channel scales
} anybit_value;

/// An attribute of a node.
typedef struct anybit_attribute {
  const char* name;
  anybit_attribute_kind kind;
  size_t count;                      ///< number of ints, floats or texts; otherwise 1
  const int64_t* ints;               ///< ANYBIT_ATTRIBUTE_INT and INTS
  const float* floats;               ///< ANYBIT_ATTRIBUTE_FLOAT and FLOATS
  const char* const* texts;          ///< ANYBIT_ATTRIBUTE_TEXT and TEXTS, NUL-terminated
  const anybit_value* tensor;        ///< ANYBIT_ATTRIBUTE_TENSOR
  const struct anybit_graph* graph;  ///< ANYBIT_ATTRIBUTE_GRAPH
} anybit_attribute;

/// A node of a graph.
typedef struct anybit_node {
  const char* name;
  const char* op;      ///< operator type: "Conv", "QLinearConv", …
  const char* domain;  ///< "" for ONNX; "com.microsoft" for ONNX Runtime; "ai.anybit" for anybit
  int64_t version;     ///< of the operator: the opset that changed it last
  size_t input_count, output_count, attribute_count;
  const int32_t* inputs;   ///< indices into the values of the graph; -1: omitted
  const int32_t* outputs;  ///< likewise
  const anybit_attribute* attributes;
} anybit_node;

/// A graph. The nodes are in topological order.
typedef struct anybit_graph {
  size_t value_count, node_count, input_count, output_count, capture_count;
  const anybit_value* values;
  const anybit_node* nodes;
  const int32_t* inputs;  ///< indices into `values`
  const int32_t* outputs;
  /// In a subgraph: the values of the outer graph that it captures, and their indices in this graph.
  const int32_t* capture_outer;
  const int32_t* capture_inner;
} anybit_graph;

/// The model that code is generated for.
typedef struct anybit_view {
  const char* path;  ///< of the model file; empty for a model in memory
  const char* name;  ///< of the graph
  const char* hash;  ///< SHA-256 of the model's content, in hexadecimal
  const anybit_graph* graph;
} anybit_view;

// ---- The plugin.

/// Options of a call of generate().
typedef struct anybit_codegen_options {
  anybit_preference preference;
  size_t setting_count;  ///< plugin-specific settings: names and values, as the caller wrote them
  const char* const* setting_names;
  const char* const* setting_texts;
} anybit_codegen_options;

/// A tensor that a backend reads or writes.
typedef struct anybit_tensor {
  const char* type;  ///< as in anybit_value
  int32_t rank;
  const int64_t* dims;
  void* data;  ///< elements of fewer than 8 bits take one byte each
  size_t bytes;
} anybit_tensor;

/// The form of the model that a plugin receives.
typedef enum anybit_view_kind ANYBIT_ENUM_TYPE {
  ANYBIT_VIEW_WRITTEN = 0,  ///< the nodes as in the file
  /// The nodes as anybit executes them: functions inlined, constants folded, Q/DQ patterns fused into integer
  /// operators (QLinearConv for DequantizeLinear, Conv, QuantizeLinear), all shapes known.
  ANYBIT_VIEW_FUSED = 1
} anybit_view_kind;

/// A code generator. The structure and its texts are owned by the plugin and live as long as it is loaded.
typedef struct anybit_codegen_plugin {
  uint32_t abi;           ///< ANYBIT_CODEGEN_ABI
  const char* name;       ///< "abc-gen" for libabc-gen.so
  const char* extension;  ///< of generated files: ".abc"
  const char* summary;    ///< one line
  anybit_view_kind view;  ///< the form of the model that generate() receives
  /// Writes the file `path`, and optionally others in the same folder whose names begin with its stem. The
  /// host passes a path in a temporary folder, and moves the files to their destination afterwards. Returns 0
  /// on success. Otherwise it returns nonzero and writes a message to `error`.
  int (*generate)(const anybit_view* view, const anybit_codegen_options* options, const char* path,
                  anybit_text* error);

  // The backend that runs generated files. All three functions, or none (NULL).

  /// Loads a generated file. Returns a handle, or NULL with a message in `error`.
  void* (*load)(const char* path, anybit_text* error);
  /// Runs a loaded file; inputs and outputs are in the order of the model. Returns 0 on success. The host
  /// makes one call at a time per handle.
  int (*run)(void* loaded, const anybit_tensor* inputs, size_t input_count, anybit_tensor* outputs,
             size_t output_count, anybit_text* error);
  /// Frees a handle.
  void (*unload)(void* loaded);

  // Since version 2.

  /// The name of the backend, for anybit_set_available_backends() and BACKENDS: lower-case letters, digits,
  /// '-' and '_'. NULL: the plugin's name before "-gen".
  const char* backend;
} anybit_codegen_plugin;

/// The only symbol that a plugin must export. Returns the plugin.
__attribute__((visibility("default"))) const anybit_codegen_plugin* anybit_codegen_entry(void);

#ifdef __cplusplus
}  // extern "C"
#endif

// ---- The C++ API of programs that run generators. Plugins do not need it.
#if defined(__cplusplus) && __cplusplus >= 202002L
#include <map>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/npy.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// Options of generate_code().
struct CodegenOptions {
  anybit_preference preference = ANYBIT_PREFER_DEFAULT;
  std::map<std::string, std::string> settings = {};  ///< plugin-specific
  /// Shapes of inputs that have dynamic dimensions.
  std::map<std::string, std::vector<std::int64_t>> shapes = {};
  /// Inputs to replace by constants: the generated code has no such input. Useful for inputs that determine a
  /// branch or a shape.
  std::map<std::string, Array> constants = {};
  /// Folders to search for plugins before that of the installation. Absolute paths.
  std::vector<std::string> folders = {};
  /// Files that must not be overwritten, in addition to those of the model.
  std::vector<std::string> keep = {};
};

/// Generates code for a model with the plugin `name` ("c-gen"). If `path` is empty it is the model's path
/// with the plugin's extension. Returns the path of the generated file. Files are written atomically.
ANYBIT_API Result<std::string> generate_code(const Model& model, const std::string& name,
                                             const std::string& path,
                                             const CodegenOptions& options = {}) noexcept;

/// The description of an installed generator.
struct GeneratorInfo {
  std::string name, extension, summary, library;
  bool backend = false;      ///< it can run the generated files
  std::string backend_name;  ///< by which that is allowed or required; empty: it has no backend
};
/// Returns the generators in `folders` and in the folder of the installation, sorted by name. One that cannot
/// be loaded is listed with the reason in its summary.
ANYBIT_API std::vector<GeneratorInfo> list_generators(const std::vector<std::string>& folders = {}) noexcept;

}  // namespace anybit
#endif
