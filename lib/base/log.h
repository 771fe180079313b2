// Levelled log lines on stderr: "[rank 3  12.4s] sentence". Below warn only rank 0 speaks. stdout carries data only.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace octet::log {

enum class Level { kDebug, kInfo, kWarn, kError };

/// Sets the rank shown and the lowest level printed; called once by main.
void configure(int rank, Level lowest);

/// Writes one line if the level and the rank allow it.
void write(Level level, std::string_view sentence);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace octet::log
