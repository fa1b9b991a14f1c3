#include "codegen/plugin.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "base/folder_names.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "codegen/writable.hpp"

namespace anybit::codegen {
namespace {

constexpr std::string_view kPrefix = "lib", kSuffix = ".so", kKind = "-gen";
// Relative to the folder of libanybit.so. The second is where plugins of onert are installed.
constexpr std::string_view kInstalled = "/anybit/codegen", kInstalledForOnert = "/nnfw/codegen";
constexpr const char* kEntry = "anybit_codegen_entry";
constexpr std::uint32_t kOldestAbi = 1, kAbiWithBackendName = 2;
constexpr std::size_t kMostSaid = 64 * 1024;
constexpr std::size_t kMostLines = 40;

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

bool is_name(std::string_view name) {
  return name.size() > kKind.size() && name.ends_with(kKind) && std::ranges::all_of(name, is_plain);
}

bool is_extension(std::string_view text) {
  const auto fits = [](char c) { return is_plain(c) || (c >= 'A' && c <= 'Z') || c == '.'; };
  return text.size() > 1 && text.front() == '.' && std::ranges::all_of(text, fits);
}

// "c" of "c-gen".
std::string stem_of(const std::string& name) { return name.substr(0, name.size() - kKind.size()); }

// The folder of the library that holds this code. Empty if the loader gives no absolute path: a relative one
// would depend on the working directory.
std::string library_folder() {
  Dl_info about{};
  if (dladdr(reinterpret_cast<const void*>(&library_folder), &about) == 0 || !about.dli_fname) return {};
  std::error_code failed;
  const std::filesystem::path named(about.dli_fname);
  const std::filesystem::path library = named.is_absolute() ? std::filesystem::canonical(named, failed) : "";
  return library.empty() || failed ? std::string() : library.parent_path().string();
}

// The folder of this project's own generators; empty if it is unknown.
std::string installed_folder() {
  const std::string folder = library_folder();
  return folder.empty() ? folder : folder + std::string(kInstalled);
}

Result<std::vector<std::string>> searched(std::span<const std::string> folders) {
  std::vector<std::string> all;
  for (const std::string& one : folders) {
    if (!std::filesystem::path(one).is_absolute())
      return invalid_argument(fmt::format("generators are to be looked for in '{}'", shown(one)),
                              "an absolute path");
    all.push_back(one);
  }
  const std::string beside = library_folder();
  if (beside.empty()) return all;
  for (const std::string_view installed : {kInstalled, kInstalledForOnert})
    all.push_back(beside + std::string(installed));
  return all;
}

std::string library_in(const std::string& folder, std::string_view name) {
  return fmt::format("{}/{}{}{}", folder, kPrefix, name, kSuffix);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

Error unusable(const std::string& library, std::string_view why) {
  return error_at(Code::malformed, shown(library), fmt::format("cannot be used as a generator: {}", why));
}

}  // namespace

void Said::append(void* target, const char* bytes, std::size_t count) {
  auto& said = *static_cast<std::string*>(target);
  if (bytes) said.append(bytes, std::min(count, kMostSaid - std::min(said.size(), kMostSaid)));
}

Error Said::error(std::string_view name, std::string_view otherwise) const {
  std::string text;
  std::string_view left = said_.empty() ? otherwise : std::string_view(said_);
  for (std::size_t i = 0; i < kMostLines && !left.empty(); ++i) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    if (i > 0) text += "; ";
    text += shown(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return error_at(Code::unsupported, std::string(name), std::move(text));
}

std::string Plugin::name_of(const std::string& library) {
  const std::string file = std::filesystem::path(library).filename().string();
  if (!file.starts_with(kPrefix) || !file.ends_with(kSuffix) || file.size() < kPrefix.size() + kSuffix.size())
    return {};
  const std::string name = file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size());
  return is_name(name) ? name : std::string();
}

Plugin::~Plugin() {
  if (handle_) dlclose(handle_);
}

Result<std::shared_ptr<const Plugin>> Plugin::load(const std::string& library) {
  std::shared_ptr<Plugin> plugin(new Plugin());
  plugin->library_ = library;
  TRY(plugin->open());
  return std::shared_ptr<const Plugin>(std::move(plugin));
}

Result<void> Plugin::open() {
  // The installed generators are as safe as this library itself, which lies in the same tree.
  if (std::filesystem::path(library_).parent_path() != installed_folder())
    TRY(reject_world_writable(library_));
  handle_ = dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) {
    const char* why = dlerror();
    return unusable(library_, why ? shown(why) : "it cannot be loaded");
  }
  if (dlsym(handle_, kEntry)) return take_table();
  onert_.emplace(handle_);
  if (onert_->found()) return take_onert();
  return unusable(library_, fmt::format("it has no symbol {}", kEntry));
}

Result<void> Plugin::take_table() {
  const auto entry = reinterpret_cast<decltype(&anybit_codegen_entry)>(dlsym(handle_, kEntry));
  Said said;
  if (!called(said, [&] { table_ = entry(); }))
    return said.error(name_of(library_), "").within(shown(library_));
  if (!table_) return unusable(library_, "anybit_codegen_entry returned nothing");
  // Checked before anything else: with another ABI the rest of the table has an unknown layout.
  if (table_->abi < kOldestAbi || table_->abi > ANYBIT_CODEGEN_ABI)
    return unusable(library_, fmt::format("it is made for ABI {}, this library has {} to {}", table_->abi,
                                          kOldestAbi, ANYBIT_CODEGEN_ABI));
  const std::string name = name_of(library_);
  if (!table_->name || name != table_->name)
    return unusable(library_, fmt::format("it calls itself '{}', not '{}'",
                                          shown(table_->name ? table_->name : ""), name));
  if (!table_->extension || !is_extension(table_->extension))
    return unusable(library_,
                    fmt::format("its extension is '{}'", shown(table_->extension ? table_->extension : "")));
  if (!table_->generate) return unusable(library_, "it has no function generate");
  return take_backend(name);
}

Result<void> Plugin::take_backend(const std::string& name) {
  if (!table_->load != !table_->run || !table_->load != !table_->unload)
    return unusable(library_, "it has a part of a backend: load, run and unload come together");
  const char* const given = table_->abi >= kAbiWithBackendName ? table_->backend : nullptr;
  if (!table_->load)
    return given ? unusable(library_, fmt::format("it names a backend '{}' and has none", shown(given)))
                 : Result<void>();
  backend_ = given ? given : stem_of(name);
  if (backend_.empty() || !std::ranges::all_of(backend_, is_plain) || backend_ == kOwnBackend)
    return unusable(library_, fmt::format("its backend is called '{}'", shown(backend_)));
  return {};
}

// Files get the extension that onert's rule derives from the name: ".abc" of libabc-gen.so.
Result<void> Plugin::take_onert() {
  if (!onert_->complete()) return unusable(library_, "it has create_codegen, but no destroy_codegen");
  onert_name_ = name_of(library_);
  onert_extension_ = "." + stem_of(onert_name_);
  onert_table_.abi = ANYBIT_CODEGEN_ABI;
  onert_table_.name = onert_name_.c_str();
  onert_table_.extension = onert_extension_.c_str();
  onert_table_.summary = "a generator made for onert";
  table_ = &onert_table_;
  return {};
}

Result<std::vector<std::string>> Plugin::list(std::span<const std::string> folders) {
  std::map<std::string, std::string> found;  // by name; the first folder with a name wins
  for (const std::string& folder : TRY(searched(folders))) {
    const auto files = names_in(folder);
    if (!files.ok() && files.error().code == Code::out_of_memory) return files.error();
    if (!files.ok()) continue;
    for (const std::string& file : *files) {
      const std::string library = folder.ends_with('/') ? folder + file : folder + '/' + file;
      const std::string name = name_of(library);
      if (!name.empty() && is_file(library)) found.emplace(name, library);
    }
  }
  std::vector<std::string> libraries;
  for (const auto& [name, library] : found) libraries.push_back(library);
  return libraries;
}

Result<std::shared_ptr<const Plugin>> Plugin::find(const std::string& name,
                                                   std::span<const std::string> folders) {
  if (!is_name(name)) {
    const bool short_form = is_name(name + "-gen");
    return invalid_argument(fmt::format("'{}' cannot be a generator", shown(name)),
                            short_form
                                ? fmt::format("did you mean '{}-gen'?", name)
                                : "its name ends in -gen, after lower-case letters, digits, '-' and '_'");
  }
  const auto places = TRY(searched(folders));
  for (const std::string& folder : places) {
    const std::string library = library_in(folder, name);
    if (is_file(library)) return load(library);
  }
  std::vector<std::string> names;
  for (const std::string& library : TRY(list(folders))) names.push_back(name_of(library));
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::string hint = did_you_mean(name, known);
  if (hint.empty())
    hint = names.empty() ? "there is none" : fmt::format("there are {}", fmt::join(names, ", "));
  return error_at(Code::not_found, {},
                  fmt::format("there is no generator '{}' in {}", name,
                              shown(fmt::format("{}", fmt::join(places, ", ")))),
                  hint);
}

}  // namespace anybit::codegen
