// What nearly every file here includes, compiled once.
#pragma once

#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "graph/model.hpp"
