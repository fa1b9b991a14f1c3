// A generator that violates one rule, selected on the compiler's command line.
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "anybit/codegen.hpp"

#ifndef ABI
#define ABI ANYBIT_CODEGEN_ABI
#endif
#ifndef NAME
#define NAME "rule-gen"
#endif
#ifndef EXTENSION
#define EXTENSION ".rule"
#endif

#ifdef MISSING_SYMBOL
void nobody_has_this(void);
__attribute__((constructor)) static void call_it(void) { nobody_has_this(); }
#endif

static void write_file(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  if (file == NULL) return;
  fputs(text, file);
  fclose(file);
}

static int tell(anybit_text* error, const char* text, int result) {
  error->write(error->target, text, strlen(text));
  return result;
}

static int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
                    anybit_text* error) {
  char beside[4096];
  (void)view;
  (void)options;
  snprintf(beside, sizeof beside, "%.*s", (int)(strrchr(path, '.') - path), path);
#if defined(FAILS)
  write_file(path, "half a fi");
  strcat(beside, "_more.rule");
  write_file(beside, "half of another");
  return tell(error, "this model \x1b[31mis not for me\nsecond line", 3);
#elif defined(SILENT)
  return 7;
#elif defined(WRITES_NOTHING)
  return 0;
#elif defined(WRITES_ELSEWHERE)
  write_file(path, "fine");
  strcpy(strrchr(beside, '/'), "/other.rule");
  write_file(beside, "not mine");
  return 0;
#elif defined(WRITES_A_LINK)
  return symlink("/etc/passwd", path);
#elif defined(GOES_ELSEWHERE)
  write_file(path, "main");
  return chdir("/") != 0 || getenv("RULE_FAILS") != NULL ? tell(error, "lost", 1) : 0;
#elif defined(WRITES_SEVERAL)
  write_file(path, "main");
  strcat(beside, ".onnx");
  if (getenv("RULE_OVERWRITES") != NULL) write_file(beside, "over the model");
  strcpy(beside + strlen(beside) - 5, "_data.bin");
  write_file(beside, "data");
  return 0;
#else
  FILE* file = fopen(path, "w");
  if (file == NULL) return tell(error, "cannot open", 1);
  int failed = 0;
  for (int i = 0; i < 20000; ++i) failed |= fputs("abcdefgh\n", file) < 0;
  failed |= fclose(file) != 0;
  return failed ? tell(error, "cannot write", 1) : 0;
#endif
}

#ifdef HALF_A_BACKEND
static void* load(const char* path, anybit_text* error) { return tell(error, path, 0) ? NULL : NULL; }
#else
#define load NULL
#endif

#ifndef NO_ENTRY
const anybit_codegen_plugin* anybit_codegen_entry(void) {
  static const anybit_codegen_plugin plugin = {
      ABI, NAME, EXTENSION, "breaks a rule", ANYBIT_VIEW_WRITTEN, generate, load, NULL, NULL};
#ifdef NO_TABLE
  return &plugin - &plugin ? &plugin : NULL;
#else
  return &plugin;
#endif
}
#endif
