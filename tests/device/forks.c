// Sessions across fork: a child can close, run and create sessions after it inherited one with its threads,
// while other threads of the parent run sessions. forks MODEL CHILDREN
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kInputs = 8, kOutputs = 4, kThreads = 3 };

static const char* model;
static atomic_int over;

struct Session {
  anybit_session* session;
  float input[kInputs], output[kOutputs];
};

static void open_session(struct Session* one) {
  one->session = NULL;
  for (int i = 0; i < kInputs; ++i) one->input[i] = (float)i - 3;
  CHECK(one->session, anybit_create_session(&one->session));
  CHECK(one->session, anybit_set_threads(one->session, kThreads));
  CHECK(one->session, anybit_load_model_from_file(one->session, model));
  CHECK(one->session, anybit_prepare(one->session));
  CHECK(one->session, anybit_set_input(one->session, 0, ANYBIT_TYPE_FLOAT32, one->input, sizeof one->input));
  CHECK(one->session,
        anybit_set_output(one->session, 0, ANYBIT_TYPE_FLOAT32, one->output, sizeof one->output));
  CHECK(one->session, anybit_run(one->session));
}

static void* keep_running(void* argument) {
  struct Session* one = argument;
  while (!over) CHECK(one->session, anybit_run(one->session));
  return NULL;
}

// In the child; `number` selects the use of the inherited session.
static void use(int number, struct Session* inherited) {
  float expected[kOutputs];
  memcpy(expected, inherited->output, sizeof expected);
  if (number % 3 != 0) {
    memset(inherited->output, 0, sizeof expected);
    CHECK(inherited->session, anybit_run(inherited->session));
    REQUIRE(memcmp(inherited->output, expected, sizeof expected) == 0);
  }
  if (number % 3 == 2) {
    struct Session other;
    open_session(&other);
    REQUIRE(memcmp(other.output, expected, sizeof expected) == 0);
    CHECK(NULL, anybit_close_session(other.session));
  }
  CHECK(NULL, anybit_close_session(inherited->session));
}

int main(int argc, char** argv) {
  REQUIRE(argc == 3);
  model = argv[1];
  const int children = atoi(argv[2]);
  struct Session inherited, busy;
  open_session(&inherited);
  open_session(&busy);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, keep_running, &busy) == 0);
  for (int i = 0; i < children; ++i) {
    CHECK(inherited.session, anybit_run(inherited.session));
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(60);
      use(i, &inherited);
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      fprintf(stderr, "child %d ended with status %d\n", i, status);
      return 1;
    }
  }
  over = 1;
  REQUIRE(pthread_join(thread, NULL) == 0);
  CHECK(inherited.session, anybit_run(inherited.session));
  CHECK(NULL, anybit_close_session(inherited.session));
  CHECK(NULL, anybit_close_session(busy.session));
  return 0;
}
