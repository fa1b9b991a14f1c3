// Code generators as shared libraries: where they are looked for, and how one is loaded and checked.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "anybit/codegen.hpp"
#include "anybit/result.hpp"

namespace anybit::codegen {

// What a plugin said went wrong, while it is called.
class Said {
 public:
  Said() : text_{&said_, append} {}
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;
  anybit_text* target() { return &text_; }
  // As an error of the generator `name`, its lines one behind the other; `otherwise` if it said nothing.
  Error error(std::string_view name, std::string_view otherwise) const;

 private:
  static void append(void* target, const char* bytes, std::size_t count);
  std::string said_;
  anybit_text text_;
};

class Plugin {
 public:
  // `library` is an absolute path to a file whose name is lib<name>.so. The ABI is checked before anything
  // else.
  static Result<std::shared_ptr<const Plugin>> load(const std::string& library);
  // The generator of this name ("c-gen"), from the first folder that has it.
  static Result<std::shared_ptr<const Plugin>> find(const std::string& name,
                                                    std::span<const std::string> folders);
  // The libraries that find() would take, by the generator's name.
  static Result<std::vector<std::string>> list(std::span<const std::string> folders);
  // "c-gen" of "/…/libc-gen.so"; empty if it is no generator's.
  static std::string name_of(const std::string& library);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const anybit_codegen_plugin& table() const { return *table_; }
  std::string name() const { return table_->name; }
  const std::string& library() const { return library_; }

 private:
  Plugin() = default;
  Result<void> open();

  std::string library_;
  void* handle_ = nullptr;
  const anybit_codegen_plugin* table_ = nullptr;
};

// Calls into a plugin: whatever it throws becomes false, and is told.
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
    return tell("it threw something");
  }
}

}  // namespace anybit::codegen
