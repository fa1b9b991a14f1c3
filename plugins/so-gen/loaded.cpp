#include "loaded.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared_object.hpp"

namespace anybit::sogen {
namespace {

struct Port {
  std::string name, type;
  std::vector<int64_t> dims;
};

// The memory of the library is static: each load uses a copy of the file, and so has its own memory.
// Replacing the file does not matter either.
class Library {
 public:
  explicit Library(const char* path) {
    copy(path);
    // Paths of open descriptors are unique, and so are those of loaded libraries.
    const std::string name = fmt::format("/proc/self/fd/{}", copy_);
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) {
      const char* why = dlerror();
      close(copy_);
      throw std::runtime_error(fmt::format("cannot load '{}': {}", path, why ? why : "no reason given"));
    }
  }
  ~Library() {
    dlclose(handle_);
    close(copy_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class Function>
  Function symbol(const char* name) const {
    void* found = dlsym(handle_, name);
    if (!found)
      throw std::runtime_error(fmt::format("it has no function {}: it is not a library of so-gen", name));
    return reinterpret_cast<Function>(found);
  }

 private:
  void copy(const char* path) {
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0) throw std::runtime_error(fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
    copy_ = memfd_create("so-gen", MFD_CLOEXEC);
    struct stat about {};
    bool copied = copy_ >= 0 && fstat(from, &about) == 0;
    for (off_t done = 0; copied && done < about.st_size;)
      copied = sendfile(copy_, from, &done, static_cast<size_t>(about.st_size - done)) > 0;
    const int why = errno;
    close(from);
    if (copied) return;
    if (copy_ >= 0) close(copy_);
    throw std::runtime_error(fmt::format("cannot read '{}': {}", path, std::strerror(why)));
  }

  int copy_ = -1;
  void* handle_ = nullptr;
};

struct Loaded {
  Library library;
  RunMainGraph run;
  std::vector<Port> inputs, outputs;

  explicit Loaded(const char* path)
      : library(path),
        run(library.symbol<RunMainGraph>("run_main_graph")),
        inputs(ports(0)),
        outputs(ports(1)) {}

 private:
  std::vector<Port> ports(int output) const {
    const auto port = library.symbol<MainGraphPort>("main_graph_port");
    std::vector<Port> list;
    const char *name = nullptr, *type = nullptr;
    int32_t rank = 0;
    const int64_t* dims = nullptr;
    while (port(output, list.size(), &name, &type, &rank, &dims) == 0)
      list.push_back({name, type, {dims, dims + rank}});
    return list;
  }
};

void check(const std::vector<Port>& ports, const anybit_tensor* tensors, size_t count, const char* what) {
  if (count != ports.size())
    throw std::runtime_error(fmt::format("{} {}s are given, the model has {}", count, what, ports.size()));
  for (size_t i = 0; i < count; ++i) {
    const std::vector<int64_t> dims(tensors[i].dims, tensors[i].dims + std::max(tensors[i].rank, 0));
    if (ports[i].type == tensors[i].type && ports[i].dims == dims) continue;
    throw std::runtime_error(fmt::format("{} '{}' is {}[{}], the library is compiled for {}[{}]", what,
                                         ports[i].name, tensors[i].type, fmt::join(dims, ", "), ports[i].type,
                                         fmt::join(ports[i].dims, ", ")));
  }
}

template <class Body>
int told(anybit_text* error, const Body& body) {
  std::string message;
  try {
    body();
    return 0;
  } catch (const std::exception& problem) {
    message = problem.what();
  }
  error->write(error->target, message.data(), message.size());
  return 1;
}

}  // namespace

void* load(const char* path, anybit_text* error) {
  std::unique_ptr<Loaded> loaded;
  told(error, [&] { loaded = std::make_unique<Loaded>(path); });
  return loaded.release();
}

int run(void* loaded, const anybit_tensor* inputs, size_t input_count, anybit_tensor* outputs,
        size_t output_count, anybit_text* error) {
  return told(error, [&] {
    const auto& model = *static_cast<const Loaded*>(loaded);
    check(model.inputs, inputs, input_count, "input");
    check(model.outputs, outputs, output_count, "output");
    std::vector<const void*> from;
    std::vector<void*> to;
    for (size_t i = 0; i < input_count; ++i) from.push_back(inputs[i].data);
    for (size_t i = 0; i < output_count; ++i) to.push_back(outputs[i].data);
    if (model.run(from.data(), to.data()) != 0)
      throw std::runtime_error(
          "the inputs choose a branch of the model that cannot run with the shapes that the library was made "
          "for");
  });
}

void unload(void* loaded) { delete static_cast<Loaded*>(loaded); }

}  // namespace anybit::sogen
