// LD_PRELOAD shim: counts allocations, and makes them fail.
//   FAILING_MEMORY_AT=N      the N-th allocation fails, counted from 1 (without it none does)
//   FAILING_MEMORY_LASTS=1   and so do all later ones
//   FAILING_MEMORY_LIMIT=B   allocations fail if more than B bytes would be live
//   FAILING_MEMORY_LOG=F     writes "allocations peak-bytes" to this file at exit
//   FAILING_MEMORY_STACKS=F  writes the number of the first allocation of every call stack to this file
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

static long at = -1, limit = -1, allocations, live, peak;
static int lasts, ready, stacks = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;  // backtrace() may allocate

static long number(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? -1 : atol(text);
}

// Frames that identify a stack, including two of this file.
enum { kFrames = 8, kSeen = 1 << 18 };

static int is_new(unsigned long hash) {
  static unsigned long seen[kSeen];
  for (unsigned long i = hash % kSeen;; i = (i + 1) % kSeen) {
    if (seen[i] == hash) return 0;
    if (seen[i] != 0) continue;
    seen[i] = hash;
    return 1;
  }
}

static void tell_stack(long count) {
  if (stacks < 0 || inside) return;
  inside = 1;
  void* frames[kFrames];
  const int depth = backtrace(frames, kFrames);
  unsigned long hash = 1469598103934665603UL;
  for (int i = 2; i < depth; ++i) hash = (hash ^ (unsigned long)frames[i]) * 1099511628211UL;
  pthread_mutex_lock(&lock);
  if (is_new(hash | 1)) {
    char line[32];
    const ssize_t written = write(stacks, line, (size_t)snprintf(line, sizeof line, "%ld\n", count));
    (void)written;
  }
  pthread_mutex_unlock(&lock);
  inside = 0;
}

static void get_ready(void) {
  if (ready) return;
  ready = 1;
  at = number("FAILING_MEMORY_AT");
  limit = number("FAILING_MEMORY_LIMIT");
  lasts = number("FAILING_MEMORY_LASTS") == 1;
  const char* path = getenv("FAILING_MEMORY_STACKS");
  if (path != NULL) stacks = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static int fails(size_t size) {
  get_ready();
  const long count = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
  tell_stack(count);
  if (at > 0 && (lasts ? count >= at : count == at)) return 1;
  return limit >= 0 && (size > (size_t)limit || __atomic_load_n(&live, __ATOMIC_RELAXED) > limit - (long)size);
}

static void* taken(void* memory) {
  if (memory == NULL) return NULL;
  const long now =
      __atomic_add_fetch(&live, (long)malloc_usable_size(memory), __ATOMIC_RELAXED);
  if (now > peak) peak = now;
  return memory;
}

static void* refused(void) {
  errno = ENOMEM;
  return NULL;
}

static void given_back(void* memory) {
  if (memory != NULL) __atomic_sub_fetch(&live, (long)malloc_usable_size(memory), __ATOMIC_RELAXED);
}

void* malloc(size_t size) { return fails(size) ? refused() : taken(__libc_malloc(size)); }

void* calloc(size_t count, size_t size) {
  return fails(size == 0 || count < 1 ? 0 : count * size) ? refused() : taken(__libc_calloc(count, size));
}

void* realloc(void* memory, size_t size) {
  if (fails(size)) return refused();
  given_back(memory);
  void* const moved = __libc_realloc(memory, size);
  if (moved == NULL && size != 0) taken(memory);
  return taken(moved);
}

void free(void* memory) {
  given_back(memory);
  __libc_free(memory);
}

void* memalign(size_t alignment, size_t size) {
  return fails(size) ? refused() : taken(__libc_memalign(alignment, size));
}

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** memory, size_t alignment, size_t size) {
  void* const piece = memalign(alignment, size);
  if (piece == NULL) return ENOMEM;
  *memory = piece;
  return 0;
}

__attribute__((destructor)) static void tell(void) {
  const char* path = getenv("FAILING_MEMORY_LOG");
  if (path == NULL) return;
  char line[64];
  const int length = snprintf(line, sizeof line, "%ld %ld\n", allocations, peak);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  const ssize_t written = write(file, line, (size_t)length);
  (void)written;
  close(file);
}
