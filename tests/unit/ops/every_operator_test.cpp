// Every operator of the table, in all its versions, with random inputs and attributes: through inference, its
// checker, `prepare` and `run`. Nothing may crash, whatever the model contains; `run` rejects everything that
// the checker rejects; results have the inferred types and shapes. ANYBIT_SEED and ANYBIT_ROUNDS set the seed
// and the number of rounds; ANYBIT_TRACE=1 prints each call before it runs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "meeting.hpp"
#include "ops/rules.hpp"
#include "starts.hpp"

namespace anybit::ops {
namespace {

using testing::CallPaths;
using testing::Chance;
using testing::Contents;
using testing::difference;
using testing::Given;
using testing::Maker;
using testing::RandomCall;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::map<std::string, std::string> kinds_of(const Descriptor& op) {
  struct Row {
    std::string_view domain, op, attributes;
  };
  static constexpr Row kRows[] = {
#include "ops/attribute_kinds.inc"
  };
  std::map<std::string, std::string> kinds;
  for (const Row& row : kRows) {
    if (row.domain != op.domain || row.op != op.name) continue;
    std::istringstream words{std::string(row.attributes)};
    for (std::string word; words >> word;) {
      if (word.back() == '!') word.pop_back();
      kinds[word.substr(0, word.find(':'))] = word.substr(word.find(':') + 1);
    }
  }
  return kinds;
}

std::string to_string(const graph::Attribute::Value& value) {
  if (const auto* one = std::get_if<std::int64_t>(&value)) return std::to_string(*one);
  if (const auto* one = std::get_if<float>(&value)) return std::to_string(*one) + "f";
  if (const auto* one = std::get_if<std::string>(&value)) return "'" + *one + "'";
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
    return fmt::format("[{}]", fmt::join(*list, ", "));
  if (const auto* list = std::get_if<std::vector<float>>(&value)) return fmt::format("{}f", list->size());
  if (const auto* list = std::get_if<std::vector<std::string>>(&value))
    return fmt::format("['{}']", fmt::join(*list, "', '"));
  if (const auto* one = std::get_if<graph::Tensor>(&value))
    return fmt::format("tensor {}[{}]", graph::name_of(one->type()), fmt::join(one->dims, ", "));
  if (const auto* one = std::get_if<graph::GraphBox>(&value))
    return fmt::format("graph of {} to {}", (*one)->inputs.size(), (*one)->outputs.size());
  return fmt::format("kind {}", value.index());
}

std::string to_string(const RandomCall& call) {
  static constexpr std::string_view kLayouts[] = {"", " channels_last", " blocked8"};
  static constexpr std::string_view kKinds[] = {"nothing ", "", "sequence "};
  std::string text = "(";
  for (const Given& one : call.inputs) {
    if (one.absent) {
      text += "-, ";
      continue;
    }
    text += fmt::format("{}{}{}[{}]{} #{}, ", one.constant ? "constant " : "",
                        kKinds[static_cast<std::size_t>(one.kind)], graph::name_of(one.type),
                        fmt::join(one.dims, ", "), kLayouts[static_cast<std::size_t>(one.layout)],
                        static_cast<int>(one.contents));
  }
  for (const auto& [name, value] : call.attributes) text += name + "=" + to_string(value) + " ";
  text += ") ->";
  for (const bool wanted : call.wanted) text += wanted ? " y" : " -";
  return text + (call.hidden ? fmt::format(" hidden {}", call.hidden) : "");
}

// A message without the parts that differ from call to call.
std::string outline(std::string_view message) {
  std::string text;
  for (const char one : message.substr(0, 100)) {
    const bool varies = (one >= '0' && one <= '9') || std::string_view("[]-,. ").find(one) != message.npos;
    if (!varies || text.empty() || text.back() != '#') text += varies ? '#' : one;
  }
  return text;
}

// The value of any float or integer element; nothing for other types.
std::optional<double> number_at(const Array& array, std::int64_t i) {
  std::optional<double> found;
  for_number(array.type(),
             [&]<class T>(T) { found = static_cast<double>(static_cast<Computed<T>>(array.data<T>()[i])); });
  return found;
}

// The same values in another type; they are multiples of 1/4, exact in every float type.
Array retyped(const Array& from, ElementType type) {
  Array to = testing::exact_array(type, from.dims()).value();
  for_real(type, [&]<class T>(T) {
    for (std::int64_t i = 0; i < from.count(); ++i)
      to.mutable_data<T>()[i] = T(static_cast<float>(from.data<float>()[i]));
  });
  return to;
}

// Whether results are equal up to rounding to a smaller type.
bool near(const Datum& a, const Datum& b) {
  if (!a.is_array() || !b.is_array()) return a.kind == b.kind;
  if (!(a.array.dims() == b.array.dims()) || a.array.layout() != b.array.layout()) return false;
  for (std::int64_t i = 0; i < a.array.stored(); ++i) {
    const auto one = number_at(a.array, i), other = number_at(b.array, i);
    if (!one || !other || one == other || !(std::isfinite(*one) && std::isfinite(*other))) continue;
    if (std::max(std::abs(*one), std::abs(*other)) > 6e4) continue;  // beyond the range of float16
    const bool quantized = !is_float(a.array.type());
    if (std::abs(*one - *other) > (quantized ? 1 : 0.02 * std::max(1.0, std::abs(*one)))) return false;
  }
  return true;
}

struct Counts {
  std::int64_t calls = 0, accepted = 0, ran = 0, retyped = 0;
};

class Search {
 public:
  Search(const Descriptor& op, std::int64_t version, std::uint64_t seed)
      : op_(op), version_(version), chance_(seed), maker_(op, kinds_of(op), asked_) {}

  Counts counts;
  std::set<std::string> mixes;  // other types that were accepted

  void go(std::uint64_t rounds) {
    for (const RandomCall& start : testing::starts_of(op_.name)) keep(start);
    for (std::uint64_t i = 0; i < rounds && wrong_ < 3; ++i) {
      const bool fresh = met_.empty() || chance_.one_in(10);
      const auto ran = met_.find("ran ");
      const bool near = ran != met_.end() && chance_.one_in(2);
      keep(fresh  ? maker_.make(chance_)
           : near ? maker_.changed(ran->second, chance_)
                  : maker_.changed(chance_.of(met_).second, chance_));
    }
  }

 private:
  // Keeps one call per outcome; a later call with the same outcome sometimes replaces it.
  void keep(const RandomCall& call) {
    const std::string how = meet(call);
    const bool known = met_.count(how) != 0;
    if (!known && met_.size() >= 64) met_.erase(chance_.of(met_).first);
    if (!known || chance_.one_in(3)) met_[how] = call;
  }

  void tell(const RandomCall& call, const std::string& what) {
    ++wrong_;
    ADD_FAILURE() << op_.domain << ":" << op_.name << "-" << version_ << ": " << what << "\n  "
                  << to_string(call);
  }

  // Another float type for one input is rejected, or read correctly.
  void check_types(const RandomCall& call, CallPaths& meeting, const std::vector<Datum>& ran) {
    for (const Given& one : call.inputs) {
      if (one.contents == Contents::extremes || one.contents == Contents::bytes) return;
    }
    for (const auto& [name, value] : call.attributes) {
      const auto* real = std::get_if<float>(&value);
      if (real && !std::isfinite(*real)) return;
      const auto* whole = std::get_if<std::int64_t>(&value);
      if (whole && (*whole < -64 || *whole > 64)) return;  // exponents beyond the range of a type
    }
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const Given& one = call.inputs[i];
      const bool real = one.type == ElementType::float32 && one.kind == Datum::Kind::array && !one.absent;
      if (!real || one.layout != Layout::plain) continue;
      for (const ElementType type : {ElementType::float16, ElementType::float64}) {
        const Datum other = retyped(meeting.data()[i].array, type);
        const auto again = meeting.run(true, &other, i);
        ++counts.retyped;
        if (!again.ok()) continue;
        mixes.insert(fmt::format("input {} as {}", i, graph::name_of(type)));
        for (std::size_t k = 0; k < ran.size(); ++k) {
          if (!near(ran[k], (*again)[k]))
            tell(call, fmt::format("output {} differs with input {} as {}", k, i, graph::name_of(type)));
        }
      }
    }
  }

  // The outcome of a call: how far it came.
  std::string meet(const RandomCall& call) {
    static const bool traced = from_environment("ANYBIT_TRACE", 0) != 0;
    if (traced) std::cerr << op_.domain << ":" << op_.name << "-" << version_ << to_string(call) << std::endl;
    ++counts.calls;
    CallPaths meeting(op_, version_, call, asked_);
    const auto inference = meeting.infer();
    const auto ran = meeting.run(true);
    const auto folded = meeting.run(false);
    if (ran.ok()) ++counts.ran;
    if (!inference) return "no model";
    const NodeFacts* facts = inference->nodes.empty() ? nullptr : &inference->nodes.front();
    const bool refused = facts && !facts->problem.empty();
    if (inference->problems.empty()) ++counts.accepted;
    if (refused && ran.ok()) tell(call, "run accepts a call that inference rejects: " + facts->problem);
    if (ran.ok() != folded.ok() && !ran.ok())
      tell(call, "run rejects a call that constant folding accepts: " + ran.error().text());
    if (ran.ok() && facts && !refused) {
      for (std::size_t i = 0; i < ran->size() && i < facts->outputs.size(); ++i) {
        const std::string found = call.wanted[i] ? difference(facts->outputs[i], (*ran)[i]) : "";
        if (!found.empty())
          tell(call, fmt::format("output {} is {}, but inferred as {}", i, ops::to_string((*ran)[i]), found));
      }
    }
    if (ran.ok() && op_.pure) check_types(call, meeting, *ran);
    const std::string stage = refused ? "rejected " : "";
    return stage + (ran.ok() ? "ran " : outline(ran.error().message));
  }

  const Descriptor& op_;
  std::int64_t version_;
  Chance chance_;
  std::set<std::string> asked_;
  Maker maker_;
  std::map<std::string, RandomCall> met_;
  int wrong_ = 0;
};

std::vector<std::string> domains() {
  std::set<std::string> all;
  for (const Descriptor* op : table()) all.emplace(op->domain);
  return {all.begin(), all.end()};
}

class EveryOperator : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryOperator, NeverCrashesAndMatchesItsInference) {
  const std::uint64_t seed = from_environment("ANYBIT_SEED", 20261);
  const std::uint64_t rounds = from_environment("ANYBIT_ROUNDS", 150);
  const char* const only = std::getenv("ANYBIT_ONLY");
  const bool told = std::getenv("ANYBIT_TELL") != nullptr;
  Counts sum;
  std::uint64_t number = 0;
  for (const Descriptor* op : table()) {
    ++number;
    if (op->domain != GetParam() || (only && op->name != only)) continue;
    for (const std::int16_t version : op->since) {
      Search search(*op, version, seed + 1000 * number + static_cast<std::uint64_t>(version));
      search.go(rounds);
      sum.calls += search.counts.calls;
      sum.accepted += search.counts.accepted;
      sum.ran += search.counts.ran;
      if (told) {
        std::cout << op->domain << ":" << op->name << "-" << version << " accepted " << search.counts.accepted
                  << " ran " << search.counts.ran << "\n"
                  << fmt::format("mixes {}: {}\n", op->name, fmt::join(search.mixes, ", "));
      }
      sum.retyped += search.counts.retyped;
    }
  }
  std::cout << "seed " << seed << ": " << sum.calls << " calls, " << sum.accepted << " accepted, " << sum.ran
            << " ran, " << sum.retyped << " with another real type" << std::endl;
}

INSTANTIATE_TEST_SUITE_P(Domains, EveryOperator, ::testing::ValuesIn(domains()));

}  // namespace
}  // namespace anybit::ops
