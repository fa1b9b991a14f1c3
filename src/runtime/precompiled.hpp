// What nearly every file here includes, compiled once.
#pragma once

#include "runtime/context.hpp"
#include "runtime/program.hpp"
