// Shared by the programs in this folder, which are C99 and C++ at once: EXPECT ends the program with a
// message if a call returns another status.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nnfw.h"
#include "nnfw_internal.h"

static inline const char* error_of(nnfw_session* session) {
  static char text[4096];
  text[0] = 0;
  if (session) nnfw_get_last_error_message(session, text, sizeof text);
  return text;
}

#define EXPECT(session, status, call)                                                                     \
  do {                                                                                                    \
    const int expected_ = (int)(status), found_ = (int)(call);                                            \
    if (found_ != expected_) {                                                                            \
      fprintf(stderr, "%s:%d: %s: status %d, not %d: %s\n", __FILE__, __LINE__, #call, found_, expected_, \
              error_of(session));                                                                         \
      exit(1);                                                                                            \
    }                                                                                                     \
  } while (0)
#define CHECK(session, call) EXPECT(session, NNFW_STATUS_NO_ERROR, call)
#define REQUIRE(condition)                                                    \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

// The call must fail with `status` and say `word`.
#define EXPECT_ERROR(session, status, word, call)                                             \
  do {                                                                                        \
    EXPECT(session, status, call);                                                            \
    if (!strstr(error_of(session), word)) {                                                   \
      fprintf(stderr, "%s:%d: %s: said: %s\n", __FILE__, __LINE__, #call, error_of(session)); \
      exit(1);                                                                                \
    }                                                                                         \
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
