// TfIdfVectorizer: counts of known n-grams in rows of integers or strings. ONNX: TfIdfVectorizer-9.
#include <limits>
#include <unordered_map>

#include "base/checked.hpp"
#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct PairHash {
  std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& pair) const {
    const auto mixed = static_cast<std::uint64_t>(pair.first) * 0x9E3779B97F4A7C15u +
                       static_cast<std::uint64_t>(pair.second);
    return static_cast<std::size_t>((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9u);
  }
};

// The n-grams as a trie of tokens: a step leads from a node (0 is the root) to the next.
struct Grams final : Prepared {
  bool of_strings = false;
  std::unordered_map<std::string, std::int64_t> tokens;
  std::unordered_map<std::pair<std::int64_t, std::int64_t>, std::int64_t, PairHash> steps;
  std::vector<std::int64_t> column{-1};  // by node; -1: no n-gram ends here
  std::int64_t columns = 0;
  std::int64_t shortest = 1, longest = 1, skips = 0;

  // -1: no n-gram continues with this token.
  std::int64_t step(std::int64_t node, std::int64_t token) const {
    const auto found = steps.find({node, token});
    return found == steps.end() ? -1 : found->second;
  }
};

Result<Values> infer(const Call& call) {
  Value value = tensor(ElementType::float32, call.in(0).shape);
  if (value.shape && value.shape->empty()) value.shape = unknown_shape(1);  // a scalar is a row of one
  if (value.shape) value.shape->back() = Dim();
  return outputs_of(call, std::move(value));
}

// The tokens of the pool as integers; strings are numbered in order of appearance.
Result<std::vector<std::int64_t>> pool_of(const Attributes& node, Grams& grams) {
  std::vector<std::int64_t> pool;
  if (const auto texts = node.texts("pool_strings"); texts && !texts->empty()) {
    grams.of_strings = true;
    for (const std::string& text : *texts) {
      pool.push_back(
          grams.tokens.emplace(text, static_cast<std::int64_t>(grams.tokens.size())).first->second);
    }
    return pool;
  }
  const auto numbers = node.ints("pool_int64s");
  if (!numbers) return wrong("there are neither pool_strings nor pool_int64s");
  pool.assign(numbers->begin(), numbers->end());
  return pool;
}

void add_gram(Grams& grams, std::span<const std::int64_t> gram, std::int64_t column) {
  std::int64_t node = 0;
  for (const std::int64_t token : gram) {
    const auto fresh = static_cast<std::int64_t>(grams.column.size());
    const auto [place, added] = grams.steps.try_emplace({node, token}, fresh);
    if (added) grams.column.push_back(-1);
    node = place->second;
  }
  grams.column[static_cast<std::size_t>(node)] = column;
}

Result<std::shared_ptr<const Grams>> grams_of(const Attributes& node) {
  auto grams = std::make_shared<Grams>();
  grams->shortest = node.integer("min_gram_length", 1);
  grams->longest = node.integer("max_gram_length", 1);
  grams->skips = node.integer("max_skip_count", 0);
  if (grams->shortest < 1 || grams->longest < grams->shortest || grams->skips < 0) {
    return wrong(fmt::format("min_gram_length {}, max_gram_length {} and max_skip_count {} are out of range",
                             grams->shortest, grams->longest, grams->skips));
  }
  const auto starts = node.ints("ngram_counts");
  const auto indexes = node.ints("ngram_indexes");
  if (!starts || !indexes) return wrong("ngram_counts or ngram_indexes is missing");
  const auto pool = TRY(pool_of(node, *grams));
  std::size_t gram = 0;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto total = static_cast<std::int64_t>(pool.size());
    const std::int64_t begin = (*starts)[i], end = i + 1 < starts->size() ? (*starts)[i + 1] : total;
    const auto length = static_cast<std::int64_t>(i) + 1;
    if (begin < 0 || end < begin || end > total || (end - begin) % length != 0) {
      return wrong(fmt::format("the pool of {}-grams goes from {} to {}", length, begin, end),
                   fmt::format("complete n-grams within the {} tokens of the pool", total));
    }
    for (std::int64_t at = begin; at < end; at += length, ++gram) {
      if (gram >= indexes->size() || (*indexes)[gram] < 0 ||
          (*indexes)[gram] == std::numeric_limits<std::int64_t>::max()) {
        return wrong(fmt::format("n-gram {} has no valid output index", gram),
                     "ngram_indexes: one index per n-gram, 0 or more");
      }
      if (length >= grams->shortest && length <= grams->longest) {
        add_gram(*grams, std::span(pool).subspan(static_cast<std::size_t>(at), i + 1), (*indexes)[gram]);
      }
    }
  }
  for (const std::int64_t index : *indexes) {
    if (index < 0 || index == std::numeric_limits<std::int64_t>::max())
      return wrong(fmt::format("ngram_indexes holds {}", index), "output indices, 0 or more");
    grams->columns = std::max(grams->columns, index + 1);
  }
  return std::shared_ptr<const Grams>(std::move(grams));
}

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return std::shared_ptr<const Prepared>(TRY(grams_of(setup)));
}

// Tokens of an n-gram are 1, 2, … up to skips + 1 positions apart. Single tokens are counted once.
void count(const Grams& grams, std::span<const std::int64_t> tokens, float* counts) {
  const auto total = static_cast<std::int64_t>(tokens.size());
  for (std::int64_t apart = 1; apart - 1 <= grams.skips && (apart == 1 || apart < total); ++apart) {
    for (std::int64_t start = 0; start < total; ++start) {
      std::int64_t node = 0;
      for (std::int64_t at = start, length = 1; at < total && length <= grams.longest;
           at += apart, ++length) {
        node = grams.step(node, tokens[static_cast<std::size_t>(at)]);
        if (node < 0) break;
        const std::int64_t column = grams.column[static_cast<std::size_t>(node)];
        if (column >= 0 && (length > 1 || apart == 1)) counts[column] += 1;
      }
    }
  }
}

Result<std::vector<std::int64_t>> tokens_of(const Frame& frame, const Grams& grams) {
  const Array& in = frame.in(0);
  std::vector<std::int64_t> tokens;
  if (grams.of_strings && in.type() == ElementType::string) {
    for (const std::string& text : in.elements<std::string>()) {
      const auto found = grams.tokens.find(text);
      tokens.push_back(found == grams.tokens.end() ? -1 : found->second);
    }
    return tokens;
  }
  const bool read = !grams.of_strings && for_integer(in.type(), [&]<class T>(T) {
    for (const T token : in.elements<T>()) tokens.push_back(static_cast<std::int64_t>(token));
  });
  if (!read) return wrong_type(frame, 0);
  return tokens;
}

void weigh(const Frame& frame, std::span<float> row) {
  const std::string_view mode = frame.text("mode", "TF");
  if (mode == "TF") return;
  const auto weights = frame.floats("weights");
  for (std::size_t i = 0; i < row.size(); ++i) {
    const float weight = weights && i < weights->size() ? (*weights)[i] : 1.0f;
    row[i] = mode == "IDF" ? (row[i] > 0 ? weight : 0.0f) : row[i] * weight;
  }
}

Result<void> run(Frame& frame) {
  const Array& in = frame.in(0);
  std::shared_ptr<const Grams> own;
  const Grams* grams = frame.prepared<Grams>();
  if (!grams) {
    own = TRY(grams_of(frame));
    grams = own.get();
  }
  if (in.rank() > 2) return wrong(fmt::format("the input is {}", to_string(in)), "one row, or rows");
  const std::string_view mode = frame.text("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return wrong(fmt::format("mode is '{}'", shown(mode)), "TF, IDF or TFIDF");
  if (only_checks(frame)) {
    const bool takes =
        grams->of_strings ? in.type() == ElementType::string : for_integer(in.type(), [](auto) {});
    return takes ? Result<void>() : wrong_type(frame, 0);
  }
  const auto tokens = TRY(tokens_of(frame, *grams));
  Dims dims = in.dims();
  if (dims.empty()) dims.push_back(1);
  const std::int64_t length = dims.back(), rows = dims.size() == 2 ? dims[0] : 1;
  dims.back() = grams->columns;
  Array* out = TRY(frame.out(0, ElementType::float32, dims));
  std::ranges::fill(out->elements<float>(), 0.0f);
  for (std::int64_t row = 0; row < rows; ++row) {
    float* counts = out->mutable_data<float>() + row * grams->columns;
    count(*grams,
          std::span(tokens).subspan(static_cast<std::size_t>(row * length), static_cast<std::size_t>(length)),
          counts);
    weigh(frame, {counts, static_cast<std::size_t>(grams->columns)});
  }
  return {};
}

}  // namespace

std::span<const Descriptor> tfidf_vectorizer_descriptors() {
  static const Descriptor all[] = {{.name = "TfIdfVectorizer",
                                    .domain = "",
                                    .since = {9},
                                    .infer = infer,
                                    .run = run,
                                    .pairwise = true,
                                    .prepare = prepare}};
  return all;
}

}  // namespace anybit::ops
