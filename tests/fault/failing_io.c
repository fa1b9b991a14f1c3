// LD_PRELOAD shim: counts the calls that change files, and makes one of them fail, or kills the process
// there.
//   FAILING_IO_AT=N      the N-th call, counted from 1 (without it all calls succeed)
//   FAILING_IO_ERROR=E   the errno of the failing call; 0 kills the process instead, before the call
//   FAILING_IO_UNDER=P   only files below this folder count
//   FAILING_IO_LOG=F     appends one line "N call" for each call
//   FAILING_IO_SHORT=1   every write writes only half of its bytes
// A failing write has written half of its bytes anyway (unless it was interrupted): callers must not depend
// on the contents after a failed write.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int calls;

static void note(int number, const char* call) {
  const char* path = getenv("FAILING_IO_LOG");
  if (path == NULL) return;
  char line[64];
  const int length = snprintf(line, sizeof line, "%d %s\n", number, call);
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  syscall(SYS_write, file, line, (size_t)length);
  syscall(SYS_close, file);
}

static int counts_path(const char* path) {
  const char* under = getenv("FAILING_IO_UNDER");
  return under == NULL || strncmp(path, under, strlen(under)) == 0;
}

static int counts_file(int file) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return counts_path(path);
}

static int counts_name(int folder, const char* path) {
  char full[PATH_MAX];
  if (path[0] == '/') return counts_path(path);
  if (folder != AT_FDCWD) return counts_file(folder);
  return getcwd(full, sizeof full) != NULL && counts_path(full);
}

// Whether the current call fails; then sets errno.
static int fails(const char* call) {
  const int number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  note(number, call);
  const char* at = getenv("FAILING_IO_AT");
  if (at == NULL || atoi(at) != number) return 0;
  const char* error = getenv("FAILING_IO_ERROR");
  if (error == NULL || atoi(error) == 0) raise(SIGKILL);
  errno = atoi(error);
  return 1;
}

// The number of bytes that a write really writes.
static size_t taken(size_t count, int failing) {
  if (failing) return errno == EINTR ? 0 : count / 2;
  return getenv("FAILING_IO_SHORT") != NULL && count > 1 ? count / 2 : count;
}

ssize_t write(int file, const void* bytes, size_t count) {
  if (!counts_file(file)) return REAL(write)(file, bytes, count);
  const int failing = fails("write"), error = errno;
  const ssize_t written = REAL(write)(file, bytes, taken(count, failing));
  if (!failing) return written;
  errno = error;
  return -1;
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
  if (!counts_file(file)) return REAL(pwrite64)(file, bytes, count, offset);
  const int failing = fails("pwrite"), error = errno;
  const ssize_t written = REAL(pwrite64)(file, bytes, taken(count, failing), offset);
  if (!failing) return written;
  errno = error;
  return -1;
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  return pwrite64(file, bytes, count, offset);
}

int fsync(int file) { return counts_file(file) && fails("fsync") ? -1 : REAL(fsync)(file); }

int fdatasync(int file) { return counts_file(file) && fails("fdatasync") ? -1 : REAL(fdatasync)(file); }

int ftruncate(int file, off_t size) {
  return counts_file(file) && fails("ftruncate") ? -1 : REAL(ftruncate)(file, size);
}

int ftruncate64(int file, off64_t size) {
  return counts_file(file) && fails("ftruncate") ? -1 : REAL(ftruncate64)(file, size);
}

int fchmod(int file, mode_t mode) {
  return counts_file(file) && fails("fchmod") ? -1 : REAL(fchmod)(file, mode);
}

// close() releases the descriptor even if it fails, as on Linux.
int close(int file) {
  const int failing = counts_file(file) && fails("close");
  const int error = errno;
  const int result = REAL(close)(file);
  if (!failing) return result;
  errno = error;
  return -1;
}

int rename(const char* from, const char* to) {
  return counts_name(AT_FDCWD, to) && fails("rename") ? -1 : REAL(rename)(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return counts_name(to_folder, to) && fails("rename") ? -1
                                                       : REAL(renameat)(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return counts_name(to_folder, to) && fails("rename")
             ? -1
             : REAL(renameat2)(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) {
  return counts_name(AT_FDCWD, path) && fails("unlink") ? -1 : REAL(unlink)(path);
}

int unlinkat(int folder, const char* path, int flags) {
  return counts_name(folder, path) && fails("unlink") ? -1 : REAL(unlinkat)(folder, path, flags);
}

static mode_t mode_of(int flags, va_list rest) { return (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0; }

static int open_counted(int folder, const char* path, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0 && counts_name(folder, path) && fails("open")) return -1;
  return REAL(openat)(folder, path, flags, mode);
}

#define OPEN(name)                                    \
  int name(const char* path, int flags, ...) {        \
    va_list rest;                                     \
    va_start(rest, flags);                            \
    const mode_t mode = mode_of(flags, rest);         \
    va_end(rest);                                     \
    return open_counted(AT_FDCWD, path, flags, mode); \
  }
#define OPENAT(name)                                       \
  int name(int folder, const char* path, int flags, ...) { \
    va_list rest;                                          \
    va_start(rest, flags);                                 \
    const mode_t mode = mode_of(flags, rest);              \
    va_end(rest);                                          \
    return open_counted(folder, path, flags, mode);        \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
