// Changes to a program's steps while it is being built, for fusions.
#pragma once

#include <string_view>

#include "graph/node.hpp"
#include "runtime/program.hpp"

namespace anybit::runtime {

bool is(const Step& step, std::string_view name, std::string_view domain = "");
// A Cast to this type.
bool casts_to(const Step& step, ops::ElementType type);
// A node in place of a Cast, which casts to a type and from there to float32.
graph::Node cast_through(const graph::Node& cast, ops::ElementType type);

class Edit {
 public:
  explicit Edit(Program& program);

  // The step that makes a slot's value; -1 if none does.
  int producer(int slot) const;
  // The one step that uses it, once; -1 if there are more, if it leaves the program, or if it is watched.
  int only_consumer(int slot) const;
  // The steps that use it, as often as they do; -1 for each output of the program that it is, and if it is
  // watched.
  std::vector<int> consumers(int slot) const;
  // How many times steps use it; one more for each output of the program that it is, and if it is watched.
  int uses(int slot) const;
  // The value of a constant slot; null if it is not one.
  const ops::Array* constant(int slot) const;
  // Of a variable; undefined if the slot is none.
  ops::ElementType variable_type(int slot) const;
  // A new slot with a constant in it.
  int add_constant(ops::Array value);

  bool removed(std::size_t step) const { return removed_[step]; }

  // One node in place of two steps: it stands where `last` stood, makes its outputs, and uses `inputs`.
  // `first` goes; what lies between them is to be removed by the caller.
  Result<void> replace(std::size_t first, std::size_t last, graph::Node node, std::vector<int> inputs);
  // The same for a single step.
  Result<void> replace(std::size_t step, graph::Node node, std::vector<int> inputs);
  void remove(std::size_t step);
  // Takes the steps that were removed out of the program. Nothing is asked of this object after it.
  void done();

 private:
  void attach(std::size_t index);
  void detach(std::size_t index);

  // A step that uses a slot; -1: the program itself, a watcher. It counts as long as the step is the one that
  // was attached so many times before.
  struct Use {
    int step;
    int attached;
  };
  // The uses that count. Others go when the list is read, and not one by one when steps are detached: a
  // constant may have as many uses as there are steps.
  const std::vector<Use>& uses_of(std::size_t slot) const;

  Program& program_;
  std::vector<int> producer_;
  mutable std::vector<std::vector<Use>> consumers_;  // by slot
  std::vector<int> count_;                           // of the uses that count, by slot
  std::vector<int> attached_;                        // how many times, by step
  std::vector<bool> removed_;
};

}  // namespace anybit::runtime
