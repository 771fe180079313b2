// The one error type of Octet and the helpers that raise it. An Error ends the run; a bad input line is a result row
// with an "error" object instead and never becomes an Error (see lib/engine).
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace octet {

/// Process exit status of a run that ends with an Error. 0 (done) and 3 (finished with item errors) exist as exit codes
/// too, but no Error carries them.
enum class Code {
  kInternal = 1,      ///< a broken invariant of ours
  kUsage = 2,         ///< command line, configuration, impossible combination
  kInput = 4,         ///< the prompt file as a whole cannot be used
  kCheckpoint = 5,    ///< model folder, tensor inventory, weights
  kEnvironment = 6,   ///< device, launcher, communication
  kMemory = 7,        ///< does not fit
  kWatchdog = 8,      ///< a rank or a collective hangs
  kSelfCheck = 9,     ///< wrong numbers
  kInterrupted = 10,  ///< told to stop by a signal; can be resumed
};

/// Where an error was raised: the caller's file and line, taken by default argument.
struct SourceLoc {
  const char* file;
  int line;
  static constexpr SourceLoc here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// One code, one sentence (what is wrong, expected and found), one place.
class Error : public std::exception {
 public:
  Error(Code code, std::string sentence, SourceLoc where = SourceLoc::here())
      : code_(code), sentence_(std::move(sentence)), where_(where) {}
  const char* what() const noexcept override { return sentence_.c_str(); }
  Code code() const noexcept { return code_; }
  SourceLoc where() const noexcept { return where_; }

 private:
  Code code_;
  std::string sentence_;
  SourceLoc where_;
};

/// Throws Error{kInternal, sentence} when a precondition is broken.
inline void require(bool condition, std::string_view sentence, SourceLoc where = SourceLoc::here()) {
  if (!condition) throw Error(Code::kInternal, std::string(sentence), where);
}

}  // namespace octet
