/// @file
/// Size limits for models. The defaults are far above any model in use; they exist so that a malicious file
/// costs bounded time and memory.
#pragma once

#include <cstdint>

namespace anybit {

/// Limits on a model file. A model that exceeds one fails to load with Code::limit_exceeded.
struct Limits {
  std::int64_t rank = 32;                         ///< rank of a tensor
  std::int64_t elements = std::int64_t{1} << 40;  ///< elements of a tensor
  std::int64_t nodes = 1'000'000;                 ///< nodes in the file, including subgraphs and functions
  std::int64_t depth = 64;                      ///< nesting of subgraphs, and of sequence and optional types
  std::int64_t records = 4'000'000;             ///< protobuf messages and strings in the file
  std::int64_t pixels = std::int64_t{1} << 28;  ///< pixels of an image

  // Limits on work before the first run: constant folding and function inlining. Work is counted, not timed,
  // so that results do not depend on the machine. What would exceed a limit is not folded, and is computed in
  // every run.
  std::int64_t work_bytes = std::int64_t{256} << 20;   ///< bytes computed, plus 32 per byte of constants
  std::int64_t work_elements = std::int64_t{1} << 30;  ///< elements processed, plus 256 per byte of constants
  std::int64_t work_nodes = 200'000;                   ///< nodes that inlined functions expand to
};

}  // namespace anybit
