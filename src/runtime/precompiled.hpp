// Precompiled header: headers that nearly every file here includes.
#pragma once

#include "runtime/context.hpp"
#include "runtime/program.hpp"
