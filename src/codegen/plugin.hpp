// Code generators as shared libraries: search, loading and checking.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "anybit/codegen.hpp"
#include "anybit/result.hpp"
#include "codegen/onert_generator.hpp"

namespace anybit::codegen {

// The backend that is anybit itself.
inline constexpr std::string_view kOwnBackend = "cpu";

// Collects the error message of a plugin during a call.
class Said {
 public:
  Said() : text_{&said_, append} {}
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;
  anybit_text* target() { return &text_; }
  // The message as an error of the generator `name`, its lines joined; `otherwise` if there was none.
  Error error(std::string_view name, std::string_view otherwise) const;

 private:
  static void append(void* target, const char* bytes, std::size_t count);
  std::string said_;
  anybit_text text_;
};

class Plugin {
 public:
  // `library` is an absolute path to a file named lib<name>.so. The ABI is checked before anything else.
  static Result<std::shared_ptr<const Plugin>> load(const std::string& library);
  // The generator with this name ("c-gen") from the first folder that has it.
  static Result<std::shared_ptr<const Plugin>> find(const std::string& name,
                                                    std::span<const std::string> folders);
  // The libraries that find() would choose, sorted by generator name.
  static Result<std::vector<std::string>> list(std::span<const std::string> folders);
  // "c-gen" of "/…/libc-gen.so"; empty if the file name is not a generator's.
  static std::string name_of(const std::string& library);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const anybit_codegen_plugin& table() const { return *table_; }
  // Set for a generator made for onert, which has no generate() and no backend.
  const std::optional<OnertGenerator>& onert() const { return onert_; }
  // The name of the backend; empty if there is none.
  const std::string& backend() const { return backend_; }
  std::string name() const { return table_->name; }
  const std::string& library() const { return library_; }

 private:
  Plugin() = default;
  Result<void> open();
  Result<void> take_table();
  Result<void> take_backend(const std::string& name);
  Result<void> take_onert();

  std::string library_;
  void* handle_ = nullptr;
  const anybit_codegen_plugin* table_ = nullptr;
  std::string backend_;

  std::optional<OnertGenerator> onert_;
  std::string onert_name_, onert_extension_;
  anybit_codegen_plugin onert_table_{};
};

// Calls into a plugin: an exception becomes false and an error message.
template <class Body>
bool called(Said& said, const Body& body) {
  const auto tell = [&](std::string_view what) {
    said.target()->write(said.target()->target, what.data(), what.size());
    return false;
  };
  try {
    body();
    return true;
  } catch (const std::exception& thrown) {
    return tell(std::string("it threw an exception: ") + thrown.what());
  } catch (...) {
    return tell("it threw an exception of unknown type");
  }
}

}  // namespace anybit::codegen
