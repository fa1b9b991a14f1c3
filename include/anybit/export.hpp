// Marks what libanybit.so exports; everything else stays inside.
#pragma once

#define ANYBIT_API __attribute__((visibility("default")))
