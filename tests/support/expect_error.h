// Expecting an octet::Error by its code and by what its sentence must name.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octet::test {

/// Runs `action`, which must throw Error{code} whose sentence contains every one of `parts`.
template <class Action>
void expect_error(Code code, std::initializer_list<std::string_view> parts, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    for (const std::string_view part : parts) {
      EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos)
          << "\"" << part << "\" is not in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "no Error was thrown; expected one that names " << (parts.size() > 0 ? *parts.begin() : "nothing");
}

}  // namespace octet::test
