#include "anybit/write_file.hpp"

#include "base/atomic_file.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"

namespace anybit {

Result<void> write_file(const std::string& path, std::string_view bytes) noexcept {
  return guarded([&]() -> Result<void> {
    AtomicFile file = TRY(AtomicFile::create(path));
    TRY(file.write(bytes));
    return file.commit();
  });
}

}  // namespace anybit
