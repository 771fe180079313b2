// OUT.run.json: how the rows of OUT came to be. Written before the first row; a run that goes on is compared with it.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "options/options.h"

namespace octet {

/// What the record needs and the options do not say.
struct RunFacts {
  std::string version = {};
  std::string build_type = {};
  bool cuda = false;
  int ranks = 1;
};

/// The record of a run that begins now on this host: {"octet", "started", "host", "ranks", "command_line", "input",
/// "options": {name: {"value", "from"}}, "options_hash", "model": {"path", "fingerprint", "files"}, "environment"}.
/// `options` are resolved. Reads the model's config.json, index, tokenizer.json and generation_config.json; one that is
/// not there has the hash null.
Json make_run_record(Command command, const Options& options, const RunFacts& facts);

/// OUT.run.json for OUT.
std::string run_record_path(const std::string& output);

/// Error{kUsage} with every difference ("temperature: 0 -> 0.7") unless `record` gives the rows that `earlier` gives:
/// the same model and the same options, but for those that do not change rows (options/option_effect.h).
void check_same_rows(const Json& earlier, const Json& record);

/// Before the first row: compares `record` with OUT.run.json if rows of an earlier run are to be kept, then puts it in
/// its place, with the earlier run's beginning added to "earlier_runs". Errors: as check_same_rows(); Error{kUsage} if
/// there are rows and no readable record; Error{kEnvironment} if it cannot be written.
void begin_run_record(const std::string& output, Json record, size_t earlier_rows);

}  // namespace octet
