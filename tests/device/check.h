// Shared by the programs in this folder: CHECK ends the program with a message if a call fails.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anybit/anybit.h"

// The call must return `status`.
#define EXPECT(session, status, call)                                                                     \
  do {                                                                                                    \
    const int expected_ = (status), found_ = (int)(call);                                                 \
    if (found_ != expected_) {                                                                            \
      fprintf(stderr, "%s:%d: %s: status %d, not %d: %s\n", __FILE__, __LINE__, #call, found_, expected_, \
              anybit_last_error(session));                                                                \
      exit(1);                                                                                            \
    }                                                                                                     \
  } while (0)
#define CHECK(session, call) EXPECT(session, ANYBIT_OK, call)
#define REQUIRE(condition)                                                    \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

enum { kPixels = 28 * 28, kClasses = 10 };

// The digits: raw floats, one image after the other.
static inline void read_image(const char* path, int number, float* image) {
  FILE* file = fopen(path, "rb");
  REQUIRE(file != NULL);
  REQUIRE(fseek(file, (long)number * kPixels * (long)sizeof(float), SEEK_SET) == 0);
  REQUIRE(fread(image, sizeof(float), kPixels, file) == kPixels);
  fclose(file);
}

static inline int best_class(const float* scores) {
  int best = 0;
  for (int i = 1; i < kClasses; ++i) best = scores[i] > scores[best] ? i : best;
  return best;
}
