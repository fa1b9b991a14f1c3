// What a model is made of is copied, moved and dropped in every folder: the functions that do it are compiled
// once for each type, in that type's file, since having them in every file took a quarter of a build.
#pragma once

// In the type's definition, whose name cannot stand in parentheses: NOLINTBEGIN(bugprone-macro-parentheses)
#define ANYBIT_VALUE(Name)          \
  Name();                           \
  Name(const Name&);                \
  Name(Name&&) noexcept;            \
  Name& operator=(const Name&);     \
  Name& operator=(Name&&) noexcept; \
  ~Name()

// In its file.
#define ANYBIT_DEFINE_VALUE(Name)                   \
  Name::Name() = default;                           \
  Name::Name(const Name&) = default;                \
  Name::Name(Name&&) noexcept = default;            \
  Name& Name::operator=(const Name&) = default;     \
  Name& Name::operator=(Name&&) noexcept = default; \
  Name::~Name() = default
// NOLINTEND(bugprone-macro-parentheses)
