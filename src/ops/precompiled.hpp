// Precompiled header of the operators: most of their build time went into these includes.
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
