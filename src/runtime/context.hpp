// One run of a program at a time: the values in its slots, and their memory. Contexts are reused; a repeated
// run with known shapes allocates no memory.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/thread_pool.hpp"
#include "runtime/plan.hpp"
#include "runtime/profile.hpp"
#include "runtime/program.hpp"
#include "runtime/variables.hpp"
#include "runtime/watch.hpp"

namespace anybit::runtime {

class Context {
 public:
  // `variables`: of the program or of the enclosing one; null if there are none.
  Context(const Program& program, std::shared_ptr<ops::Memory> memory, ThreadPool& pool,
          Variables* variables = nullptr);
  ~Context();

  // `inputs` are in the program's order; inputs with a default may be empty. `outer`: the context of the
  // enclosing program, for captured values. The outputs are valid until the next run. The context can be used
  // again after an error.
  Result<std::span<const ops::Datum>> run(std::span<const ops::Datum> inputs, Context* outer = nullptr,
                                          Profile* profile = nullptr, Watcher* watcher = nullptr,
                                          Intervention* intervention = nullptr);
  // Runs a single step on the values in the slots, without a plan.
  Result<void> run_step(std::size_t index);

  std::span<const ops::Datum> slots() const { return slots_; }
  ops::Datum& slot(int index) { return slots_[static_cast<std::size_t>(index)]; }
  // The plan of the last run; null if that run recorded one.
  const Plan* plan() const { return plan_; }

 private:
  friend class NodeFrame;
  struct Recorder;

  Result<void> bind(std::span<const ops::Datum> inputs, Context* outer);
  Result<void> run_steps(Profile* profile);
  // Runs the operator. `prepared`: its result of Descriptor::prepare for the current values of the inputs.
  Result<void> execute(std::size_t index, const ops::Prepared* prepared);
  // The same for a step that depends on variables: only results that a write has outdated are recomputed.
  Result<void> execute_of_variables(std::size_t index);
  Result<void> make_settled(std::size_t index);
  bool take_made(const Step& step);
  void keep_outputs(const Step& step);
  Result<std::shared_ptr<const Variables::Made>> prepared_of(const Step& step);
  // Adds the types and shapes of the inputs to an operator's error.
  Error with_inputs(const Step& step, Error error) const;
  Result<void> show(const Shown& shown, bool may_change);
  Result<void> find_plan();
  void make_plan();
  void release(int index);
  void clear();
  // The value of a slot in plain layout, for the running step; a copy, if one is needed, gets a place in the
  // plan.
  Result<const ops::Datum*> plain(int index);
  // Memory in the arena; null if the value does not fit into its buffer, or the step precedes the
  // buffer's lifetime.
  std::byte* planned_memory(const Place& place, std::int64_t bytes);
  // For sanitizers: poisons buffers whose last use was the step that just ran.
  void poison_ended();
  Result<std::span<const ops::Datum>> call(const Step& step, std::string_view attribute,
                                           std::span<const ops::Datum> inputs);

  const Program& program_;
  std::shared_ptr<ops::Memory> memory_;
  ThreadPool& pool_;
  Variables* variables_;
  std::shared_ptr<const Variables::Snapshot> values_;  // of the variables, for the current run
  std::vector<bool> settled_;                          // by step with kept outputs: these are in their slots
  std::vector<ops::Datum> slots_, plain_;
  std::vector<int> buffer_of_slot_;  // in the current plan, or the one being recorded; -1: none
  std::size_t step_ = 0;             // the running step
  std::vector<ops::Datum> outputs_;
  std::vector<std::size_t> first_output_;  // of each step, in Plan::outputs
  std::list<Plan> plans_;                  // most recently used first
  const Plan* plan_ = nullptr;
  std::unique_ptr<Recorder> recorder_;
  ops::Block arena_, scratch_;
  std::int64_t scratch_used_ = 0;
  std::vector<ops::Block> more_scratch_;
  std::vector<const ops::Datum*> pointers_;  // to the inputs of the running step
  std::unordered_map<const Program*, std::unique_ptr<Context>> inner_;
  Profile* profile_ = nullptr;
  Watcher* watcher_ = nullptr;
  Intervention* intervention_ = nullptr;
  std::int64_t total_outputs_ = 0;
  bool is_clear_ = true;  // no slot has a value of a run
};

}  // namespace anybit::runtime
