// Steps of optimizers on parts of tensors, for float and double. Results may overwrite their inputs.
#pragma once

#include <cstddef>
#include <limits>

namespace anybit::kernels {

// What the steps of all optimizers share.
struct UpdateRule {
  double rate = 0;                                          // learning rate
  double decay = 0;                                         // weight decay
  double lower = -std::numeric_limits<double>::infinity();  // parameters do not go below
};

// Adam with decoupled weight decay; the corrections are 1 - beta^step.
struct AdamRule : UpdateRule {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double correction1 = 1, correction2 = 1;
};
template <class T>
struct AdamPart {
  const T *x, *g, *m, *v;
  T *x_out, *m_out, *v_out;
  std::size_t n;
};
void adam_step(const AdamRule& rule, const AdamPart<float>& part);
void adam_step(const AdamRule& rule, const AdamPart<double>& part);

struct MomentumRule : UpdateRule {
  double momentum = 0;
  bool nesterov = false;
};
template <class T>
struct MomentumPart {
  const T *x, *g, *v;
  T *x_out, *v_out;
  std::size_t n;
};
void momentum_step(const MomentumRule& rule, const MomentumPart<float>& part);
void momentum_step(const MomentumRule& rule, const MomentumPart<double>& part);

// average + weight · (x - average)
void average_step(double weight, const float* average, const float* x, float* out, std::size_t n);
void average_step(double weight, const double* average, const double* x, double* out, std::size_t n);
// factor · x
void scale_step(double factor, const float* x, float* out, std::size_t n);
void scale_step(double factor, const double* x, double* out, std::size_t n);

}  // namespace anybit::kernels
