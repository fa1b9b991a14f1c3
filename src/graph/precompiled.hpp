// Precompiled header: headers that nearly every file here includes.
#pragma once

#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "graph/model.hpp"
