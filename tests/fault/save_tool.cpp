// save_tool PATH FILL: saves PATH with AtomicFile in several writes, each byte being the first one of FILL.
#include <iostream>
#include <string>

#include "base/atomic_file.hpp"
#include "base/try.hpp"

namespace {

anybit::Result<void> save(const std::string& path, char fill) {
  auto file = TRY(anybit::AtomicFile::create(path));
  for (int part = 0; part < 3; ++part) TRY(file.write(std::string(10'000, fill)));
  TRY(file.pad_to(4096));
  TRY(file.commit());
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const auto saved = save(arguments[1], arguments[2][0]);
  if (saved.ok()) return 0;
  std::cerr << saved.error().text() << '\n';
  return 1;
}
