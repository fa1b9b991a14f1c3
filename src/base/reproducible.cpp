#include "base/reproducible.hpp"

namespace anybit {

constinit thread_local bool is_reproducible __attribute__((tls_model("initial-exec"))) = false;

}  // namespace anybit
