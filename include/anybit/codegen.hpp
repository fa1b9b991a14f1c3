// Code generators: the interface between anybit and a shared library lib<name>-gen.so that turns models into
// files for a backend. Plain C types throughout: a plugin may be written in C or C++, with any compiler.
//
//   static int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
//                       anybit_text* error) { … }
//   static const anybit_codegen_plugin plugin = {
//       .abi = ANYBIT_CODEGEN_ABI, .name = "abc-gen", .extension = ".abc", .generate = generate};
//   const anybit_codegen_plugin* anybit_codegen_entry(void) { return &plugin; }
//
// docs/codegen.md tells how to build and install one.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "anybit/preference.h"

#ifdef __cplusplus
extern "C" {
#endif

// Raised whenever a structure below changes. The host refuses a plugin made for another one.
#define ANYBIT_CODEGEN_ABI 1

// Text that a plugin hands to the host: `write` appends, as often as wanted.
typedef struct anybit_text {
  void* target;
  void (*write)(void* target, const char* bytes, size_t count);
} anybit_text;

// ---- The model, as a plugin sees it. Nothing here may be changed; all of it lives until generate returns.

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

// A tensor that flows through a graph: an input, a constant, or what a node makes.
typedef struct anybit_value {
  const char* name;
  const char* type;     // "float32", "int8", "uint4", …; empty if it is no tensor
  int32_t rank;         // -1: not known
  const int64_t* dims;  // -1: not known
  const void* data;     // of a constant, little endian, elements of less than 8 bits packed; NULL: none
  size_t bytes;         // of `data`
  // Real value = (element - zero point) * scale. `scales` is NULL if it is not quantized, or not by
  // constants.
  size_t scale_count;  // 1, or one for each index along `axis`
  const float* scales;
  const int32_t* zero_points;  // as many; NULL: all zero
  int32_t axis;
} anybit_value;

typedef struct anybit_attribute {
  const char* name;
  anybit_attribute_kind kind;
  size_t count;              // of ints, floats, texts; else 1
  const int64_t* ints;       // ANYBIT_ATTRIBUTE_INT and INTS
  const float* floats;       // ANYBIT_ATTRIBUTE_FLOAT and FLOATS
  const char* const* texts;  // ANYBIT_ATTRIBUTE_TEXT and TEXTS, with a zero behind each
  const anybit_value* tensor;
  const struct anybit_graph* graph;
} anybit_attribute;

typedef struct anybit_node {
  const char* name;
  const char* op;      // "Conv", "QLinearConv", …
  const char* domain;  // "" is ONNX's own; "com.microsoft" is ONNX Runtime's, "ai.anybit" ours
  int64_t version;     // of the operator: the opset in which it changed last
  size_t input_count, output_count, attribute_count;
  const int32_t* inputs;  // numbers of values of the graph; -1: left out
  const int32_t* outputs;
  const anybit_attribute* attributes;
} anybit_node;

// The nodes are in an order in which they can run.
typedef struct anybit_graph {
  size_t value_count, node_count, input_count, output_count, capture_count;
  const anybit_value* values;
  const anybit_node* nodes;
  const int32_t* inputs;  // numbers of values
  const int32_t* outputs;
  // In a graph inside a node: values of the graph around it that it uses, and what they are called in here.
  const int32_t* capture_outer;
  const int32_t* capture_inner;
} anybit_graph;

typedef struct anybit_view {
  const char* path;  // of the model file; empty if it came from memory
  const char* name;  // of the graph
  const char* hash;  // SHA-256 of the model's content, in hexadecimal digits
  const anybit_graph* graph;
} anybit_view;

// ---- What a plugin offers.

typedef struct anybit_codegen_options {
  anybit_preference preference;
  size_t setting_count;  // settings of the plugin's own, as the caller wrote them: name and text
  const char* const* setting_names;
  const char* const* setting_texts;
} anybit_codegen_options;

// A tensor that a backend reads or writes.
typedef struct anybit_tensor {
  const char* type;
  int32_t rank;
  const int64_t* dims;
  void* data;  // elements of less than 8 bits take a byte each
  size_t bytes;
} anybit_tensor;

// How the plugin wants to see a model.
typedef enum anybit_view_kind ANYBIT_ENUM_TYPE {
  ANYBIT_VIEW_WRITTEN = 0,  // node by node as in the file
  // As anybit runs it: functions put in place, constants computed, integer operators where quantized values
  // meet (QLinearConv for DequantizeLinear, Conv, QuantizeLinear), every shape known.
  ANYBIT_VIEW_FUSED = 1
} anybit_view_kind;

typedef struct anybit_codegen_plugin {
  uint32_t abi;           // ANYBIT_CODEGEN_ABI
  const char* name;       // "abc-gen": the library is libabc-gen.so
  const char* extension;  // of the file: ".abc"
  const char* summary;    // a line for a list
  anybit_view_kind view;
  // Writes the file `path`, and others beside it that begin with its name less the extension. All of them are
  // in a folder of their own until the plugin is done, then they are moved to where they were asked for.
  // Zero: done. Anything else is a failure, and `error` has what was wrong.
  int (*generate)(const anybit_view* view, const anybit_codegen_options* options, const char* path,
                  anybit_text* error);

  // A backend that runs such files. All three, or none (NULL).
  void* (*load)(const char* path, anybit_text* error);  // NULL: failed
  // Inputs and outputs in the model's order. One at a time for each loaded file.
  int (*run)(void* loaded, const anybit_tensor* inputs, size_t input_count, anybit_tensor* outputs,
             size_t output_count, anybit_text* error);
  void (*unload)(void* loaded);
} anybit_codegen_plugin;

// The one symbol that a plugin exports, whatever its compiler hides otherwise.
__attribute__((visibility("default"))) const anybit_codegen_plugin* anybit_codegen_entry(void);

#ifdef __cplusplus
}  // extern "C"
#endif

// ---- What a program that uses the library calls. A plugin needs none of it.
#if defined(__cplusplus) && __cplusplus >= 202002L
#include <map>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/npy.hpp"
#include "anybit/result.hpp"

namespace anybit {

struct CodegenOptions {
  anybit_preference preference = ANYBIT_PREFER_DEFAULT;
  std::map<std::string, std::string> settings = {};  // of the plugin's own
  std::map<std::string, std::vector<std::int64_t>> shapes =
      {};  // of inputs whose shapes the model leaves open
  // Inputs that the code is not to have: it is made for these values of theirs. One that decides which
  // branch runs, or a shape, is such.
  std::map<std::string, Array> constants = {};
  // Folders to look for plugins in before the one of the installation. Absolute paths.
  std::vector<std::string> folders = {};
  // Files that nothing may be written over, beside those of the model.
  std::vector<std::string> keep = {};
};

// Turns a model into a file by the plugin `name` ("c-gen"). An empty `path` is the model's, with the plugin's
// extension. Returns the path. The files appear whole or not at all.
ANYBIT_API Result<std::string> generate_code(const Model& model, const std::string& name,
                                             const std::string& path,
                                             const CodegenOptions& options = {}) noexcept;

struct GeneratorInfo {
  std::string name, extension, summary, library;
  bool backend = false;
};
// Those that are there, by name. One that cannot be loaded is listed with the reason as its summary.
ANYBIT_API std::vector<GeneratorInfo> list_generators(const std::vector<std::string>& folders = {}) noexcept;

}  // namespace anybit
#endif
