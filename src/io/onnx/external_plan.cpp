#include "io/onnx/external_plan.hpp"

#include <map>

#include "base/try.hpp"

namespace anybit::onnx {
namespace {

constexpr std::uint64_t kLargeTensor = 1 << 20;

std::uint64_t alignment_of(std::uint64_t size) { return size >= kLargeTensor ? 4096 : 64; }

// ONNX Runtime reads external data of initializers and Constant nodes, also in subgraphs. Support for the
// parts of sparse tensors and for functions is uncertain, so their data stays inside unless it was external
// before.
enum class Role { movable, fixed };

// Calls visit(tensor, role) for every tensor of a model, in file order.
template <class Visit>
class Walk {
 public:
  explicit Walk(Visit& visit) : visit_(visit) {}

  void operator()(const graph::Model& model) {
    if (model.graph) (*this)(*model.graph);
    for (const graph::TrainingInfo& training : model.training) {
      if (training.initialization) (*this)(**training.initialization);
      if (training.algorithm) (*this)(**training.algorithm);
    }
    role_ = Role::fixed;
    for (const graph::Function& function : model.functions) {
      for (const graph::Node& node : function.nodes) (*this)(node);
      for (const graph::Attribute& attribute : function.default_attributes) (*this)(attribute);
    }
  }

 private:
  void operator()(const graph::Graph& graph) {
    for (const graph::Node& node : graph.nodes) (*this)(node);
    for (const graph::Tensor& tensor : graph.initializers) visit_(tensor, role_);
    for (const graph::SparseTensor& sparse : graph.sparse_initializers) held(sparse);
  }
  void operator()(const graph::Node& node) {
    for (const graph::Attribute& attribute : node.attributes) (*this)(attribute);
  }
  void operator()(const graph::Attribute& attribute) {
    const auto look = [this](const auto& value) { this->held(value); };
    std::visit(look, attribute.value);
    for (const graph::Attribute::Value& other : attribute.others) std::visit(look, other);
  }
  template <class Value>
  void held(const Value&) {}
  void held(const graph::Tensor& tensor) { visit_(tensor, role_); }
  void held(const graph::GraphBox& box) { (*this)(*box); }
  void held(const graph::SparseTensor& sparse) {
    if (sparse.values) visit_(*sparse.values, Role::fixed);
    if (sparse.indices) visit_(*sparse.indices, Role::fixed);
  }
  void held(const std::vector<graph::Tensor>& tensors) {
    for (const graph::Tensor& tensor : tensors) held(tensor);
  }
  void held(const std::vector<graph::GraphBox>& boxes) {
    for (const graph::GraphBox& box : boxes) held(box);
  }
  void held(const std::vector<graph::SparseTensor>& tensors) {
    for (const graph::SparseTensor& sparse : tensors) held(sparse);
  }

  Visit& visit_;
  Role role_ = Role::movable;
};

bool goes_out(const graph::Tensor& tensor, Role role, const SaveOptions& options, bool overflow) {
  if (tensor.type() == graph::ElementType::string || options.external == SaveOptions::External::never)
    return false;
  const bool was_out = tensor.storage == graph::Storage::external;
  const bool large = static_cast<std::int64_t>(tensor.data.size()) >= options.external_threshold;
  const bool movable = role == Role::movable || was_out;
  if (options.external == SaveOptions::External::always) return movable && large;
  return was_out || (overflow && movable && large);
}

}  // namespace

ExternalLayout lay_out(const graph::Model& model, const SaveOptions& options, bool overflow) {
  ExternalLayout layout;
  std::uint64_t end = 0;
  std::map<std::pair<const std::byte*, std::size_t>, std::uint64_t> known;
  const auto visit = [&](const graph::Tensor& tensor, Role role) {
    if (!goes_out(tensor, role, options, overflow)) return;
    const std::size_t size = tensor.data.size();
    const std::uint64_t alignment = alignment_of(size);
    const std::uint64_t aligned = (end + alignment - 1) / alignment * alignment;
    const auto [place, fresh] = known.try_emplace({tensor.data.data(), size}, aligned);
    if (fresh && size != 0) {
      layout.pieces.push_back({aligned, tensor.data});
      end = aligned + size;
    }
    layout.plan.parts.emplace(&tensor, ExternalPlan::Part{size == 0 ? 0 : place->second, size});
  };
  Walk walk(visit);
  walk(model);
  return layout;
}

Result<void> write_pieces(const std::vector<ExternalPiece>& pieces, AtomicFile& file) {
  for (const ExternalPiece& piece : pieces) {
    TRY(file.pad_to(alignment_of(piece.data.size())));
    TRY(file.write(piece.data.span()));
  }
  return {};
}

}  // namespace anybit::onnx
