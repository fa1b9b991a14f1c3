// What nearly every operator includes, compiled once: most of an operator's build time went into these
// headers.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/frame.hpp"
#include "ops/rules.hpp"
