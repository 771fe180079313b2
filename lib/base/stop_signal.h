// SIGINT and SIGTERM as a flag that a loop looks at. Process state by nature, as the log's.
#pragma once

#include <string_view>

namespace octet {

/// From now on the first SIGINT or SIGTERM sets the flag below and does no more; the second ends the process at once.
/// One that was ignored (a shell's job in the background) stays ignored. Called once, before there are threads.
void catch_stop_signals();

/// The process gets SIGTERM when the one that started it ends: a rank must not outlive mpirun, which nobody else would
/// tell it of.
void stop_with_parent();

/// A reader of stdout or stderr that goes away is a failed write, not a signal that ends the run.
void ignore_broken_pipes();

/// Whether there was a stop signal.
bool stop_requested();

/// "SIGINT" or "SIGTERM", or an empty text when there was none.
std::string_view stop_signal();

}  // namespace octet
