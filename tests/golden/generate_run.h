// `octet generate` over request lines, and its output lines by id.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/cli/run_program.h"
#include "tests/support/test_files.h"

namespace octet::test {

struct Completion {
  std::vector<int64_t> token_ids;
  std::string text;
  std::string finish_reason;
};

struct GenerateCase {
  std::string model;
  std::string numerics = "official";
  int ranks = 1;
  std::string flags;  ///< further flags
};

inline std::vector<int64_t> token_list(const Json& list) {
  std::vector<int64_t> ids;
  for (const Json& item : list.items) ids.push_back(item.as_int().value_or(-1));
  return ids;
}

/// Runs the lines; every one of them must have an output line without an error.
inline std::map<std::string, Completion> run_generate(const GenerateCase& c, const std::vector<Json>& lines) {
  const TempFolder work;
  std::string input;
  for (const Json& line : lines) input += line.dump() + "\n";
  write_file(work.path() + "/in.jsonl", input);
  const Outcome run = octet_on(c.ranks, "generate -m " + c.model + " -i " + work.path() + "/in.jsonl -o " +
                                            work.path() + "/out.jsonl --numerics " + c.numerics + " " + c.flags);
  EXPECT_EQ(run.code, 0) << run.err;
  std::map<std::string, Completion> completions;
  if (run.code != 0) return completions;
  std::istringstream out(read_file(work.path() + "/out.jsonl"));
  for (std::string text; std::getline(out, text);) {
    const Json line = parse_json(text, "output line");
    EXPECT_TRUE(line.find("error")->is(Json::Kind::kNull)) << text;
    completions[line.find("id")->text] = {token_list(*line.find("token_ids")), line.find("text")->text,
                                          line.find("finish_reason")->text};
  }
  EXPECT_EQ(completions.size(), lines.size());
  return completions;
}

}  // namespace octet::test
