// Declares the special member functions of the model's types and defines them once per type, in the type's
// .cpp: inline they took a quarter of the build time.
#pragma once

// In the type's definition, whose name cannot stand in parentheses: NOLINTBEGIN(bugprone-macro-parentheses)
#define ANYBIT_VALUE(Name)          \
  Name();                           \
  Name(const Name&);                \
  Name(Name&&) noexcept;            \
  Name& operator=(const Name&);     \
  Name& operator=(Name&&) noexcept; \
  ~Name()

// In the .cpp.
#define ANYBIT_DEFINE_VALUE(Name)                   \
  Name::Name() = default;                           \
  Name::Name(const Name&) = default;                \
  Name::Name(Name&&) noexcept = default;            \
  Name& Name::operator=(const Name&) = default;     \
  Name& Name::operator=(Name&&) noexcept = default; \
  Name::~Name() = default
// NOLINTEND(bugprone-macro-parentheses)
