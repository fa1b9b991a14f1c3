// Edits to a program's steps while it is being built, for fusions.
#pragma once

#include <string_view>

#include "graph/node.hpp"
#include "runtime/program.hpp"

namespace anybit::runtime {

bool is(const Step& step, std::string_view name, std::string_view domain = "");
// Whether the step is a Cast to this type.
bool casts_to(const Step& step, ops::ElementType type);
// A node that replaces a Cast: it casts to a type and from there back to float32.
graph::Node cast_through(const graph::Node& cast, ops::ElementType type);

class Edit {
 public:
  explicit Edit(Program& program);

  // The step that produces a slot's value; -1 if there is none.
  int producer(int slot) const;
  // The only consumer of the slot, which uses it once; -1 if there are more uses, or if the slot is an output
  // of the program or watched.
  int only_consumer(int slot) const;
  // The consumers, once per use; -1 for each program output that the slot is, and -1 if it is watched.
  std::vector<int> consumers(int slot) const;
  // The number of uses by steps, plus one for each program output that the slot is, plus one if it is
  // watched.
  int uses(int slot) const;
  // The value of a constant slot; null for other slots.
  const ops::Array* constant(int slot) const;
  // The type of a variable; undefined if the slot is none.
  ops::ElementType variable_type(int slot) const;
  // Adds a slot with a constant in it.
  int add_constant(ops::Array value);

  bool removed(std::size_t step) const { return removed_[step]; }

  // Replaces two steps with one node: it stands at the position of `last`, produces its outputs with its
  // finish, and uses `inputs` with the start of `first`. `first` is removed; the caller removes the steps
  // between them.
  Result<void> replace(std::size_t first, std::size_t last, graph::Node node, std::vector<int> inputs);
  // Replaces a single step.
  Result<void> replace(std::size_t step, graph::Node node, std::vector<int> inputs);
  // The first step produces the output of the second, which is removed. Both have one output; that of the
  // first has no other consumer.
  void absorb(std::size_t step, std::size_t next);
  void remove(std::size_t step);
  // Erases the removed steps from the program. The object must not be used afterwards.
  void done();

 private:
  void attach(std::size_t index);
  void detach(std::size_t index);

  // A step that uses a slot; -1: the program itself, or a watcher. The use is valid while `attached` equals
  // the step's number in attached_.
  struct Use {
    int step;
    int attached;
  };
  // The valid uses. Invalid ones are erased here, not one by one in detach(): a constant may have as many
  // uses as there are steps.
  const std::vector<Use>& uses_of(std::size_t slot) const;

  Program& program_;
  std::vector<int> producer_;
  mutable std::vector<std::vector<Use>> consumers_;  // by slot
  std::vector<int> count_;                           // the number of valid uses, by slot
  std::vector<int> attached_;                        // how many times each step was attached
  std::vector<bool> removed_;
};

}  // namespace anybit::runtime
