// Marks memory as inaccessible for AddressSanitizer. No effect without it.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define ANYBIT_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ANYBIT_POISONS 1
#endif
#endif

#ifdef ANYBIT_POISONS
#include <sanitizer/asan_interface.h>
#endif

namespace anybit {

#ifdef ANYBIT_POISONS
inline constexpr bool kPoisons = true;
inline void poison(const void* begin, std::size_t bytes) { __asan_poison_memory_region(begin, bytes); }
inline void unpoison(const void* begin, std::size_t bytes) { __asan_unpoison_memory_region(begin, bytes); }
#else
inline constexpr bool kPoisons = false;
inline void poison(const void*, std::size_t) {}
inline void unpoison(const void*, std::size_t) {}
#endif

}  // namespace anybit
