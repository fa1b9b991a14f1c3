// The steps of a load: check the wire format, parse, convert, verify, and check that no mapped file was
// truncated meanwhile.
#include "io/onnx/load.hpp"

#include <google/protobuf/arena.h>

#include <cstddef>

#include "base/mapped_file.hpp"
#include "base/safe_open.hpp"
#include "base/try.hpp"
#include "graph/repeated_names.hpp"
#include "graph/shadowed_names.hpp"
#include "graph/unknown_dims.hpp"
#include "graph/verify.hpp"
#include "io/onnx/from_wire.hpp"
#include "io/onnx/wire_check.hpp"

namespace anybit::onnx {
namespace {

constexpr std::size_t kArenaRoom = std::size_t{32} << 10;

}  // namespace

Result<graph::Model> parse(const Bytes& bytes, const std::string& folder, const LoadOptions& options) {
  TRY(check_wire(bytes.span(), options.limits));
  // Room for the temporary messages of most models, so that they need no heap memory.
  alignas(std::max_align_t) char room[kArenaRoom];
  google::protobuf::ArenaOptions room_first;
  room_first.initial_block = room;
  room_first.initial_block_size = sizeof room;
  google::protobuf::Arena arena(room_first);
  auto& message = *google::protobuf::Arena::CreateMessage<wire::Model>(&arena);
  SetAside set_aside;
  TRY(parse_wire(bytes.span(), options.limits, message, set_aside));
  ExternalData external(folder, options.allow_linked_data ? Links::allow : Links::refuse);
  graph::Model model = TRY(take_model(message, {bytes, set_aside, external}));
  model.sources = std::move(external).take_sources();
  graph::open_unknown_dims(model);
  graph::rename_shadowing(model);
  graph::number_repeated_names(model);
  TRY(graph::verify(model, options.limits));
  for (const auto& source : model.sources) TRY(source->intact());
  return model;
}

}  // namespace anybit::onnx
