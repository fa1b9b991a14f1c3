// Rows of class scores along an axis: do the values behave like scores of classes, how often do two models
// choose the same, and how far are their probabilities apart?
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace anybit::evaluate {

class ClassRows {
 public:
  explicit ClassRows(std::size_t axis) : axis_(axis) {}
  void add(std::span<const std::int64_t> dims, std::span<const float> reference,
           std::span<const float> other);
  std::size_t axis() const { return axis_; }

  // Probabilities that sum to 1, their logarithms, or logits of which one usually stands out. Embeddings,
  // coordinates and feature maps are none of these.
  bool likely() const;
  std::int64_t rows() const { return rows_; }
  std::int64_t agreed() const { return agreed_; }
  // Rows and agreement without those where both models choose the class of most rows (blank, background):
  // these say little.
  std::int64_t telling_rows() const { return rows_ - same_as_dominant(); }
  std::int64_t telling_agreed() const { return agreed_ - same_as_dominant(); }
  // The Jensen-Shannon divergence of the probabilities, in nats: its sum by the number of telling rows. It
  // grows with every change, as noise does, and saturates, as the agreement does.
  double divergence() const;

 private:
  void add_row(std::span<const float> reference, std::span<const float> other);
  // The divergence of a row; of probabilities, or else of logits or logarithms.
  double divergence_of(std::span<const float> reference, std::span<const float> other, bool probabilities);
  // Rows where both models choose the class of more than half of the reference's rows; 0 if there is no such
  // class.
  std::int64_t same_as_dominant() const;

  std::size_t axis_;
  std::int64_t rows_ = 0, agreed_ = 0;
  std::int64_t normalized_ = 0;     // rows that are probabilities or their logarithms
  std::int64_t signed_ = 0;         // rows with values of both signs
  double peaks_ = 0, largest_ = 0;  // sum of the largest probability after softmax; largest magnitude
  double divergence_ = 0;           // sum over the rows
  bool logits_ = true;              // the rank and width are those of logits
  std::vector<std::int64_t> chosen_, both_chose_;  // by class: rows of the reference, and of both models
  std::vector<float> row_, other_row_;
  std::vector<double> chances_, other_chances_;
};

}  // namespace anybit::evaluate
