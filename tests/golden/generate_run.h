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
  int64_t prompt_tokens = 0, cached_tokens = 0;
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

/// Runs the lines; the output lines, none of which may have an error.
inline std::vector<Json> generated_rows(const GenerateCase& c, const std::vector<Json>& lines) {
  const TempFolder work;
  std::string input;
  for (const Json& line : lines) input += line.dump() + "\n";
  write_file(work.path() + "/in.jsonl", input);
  const Outcome run = octet_on(c.ranks, "generate -m " + c.model + " -i " + work.path() + "/in.jsonl -o " +
                                            work.path() + "/out.jsonl --numerics " + c.numerics + " " + c.flags);
  EXPECT_EQ(run.code, 0) << run.err;
  std::vector<Json> rows;
  if (run.code != 0) return rows;
  std::istringstream out(read_file(work.path() + "/out.jsonl"));
  for (std::string text; std::getline(out, text);) {
    rows.push_back(parse_json(text, "output line"));
    EXPECT_TRUE(rows.back().find("error")->is(Json::Kind::kNull)) << text;
  }
  EXPECT_EQ(rows.size(), lines.size());
  return rows;
}

/// The same by id, for lines that ask for one completion.
inline std::map<std::string, Completion> run_generate(const GenerateCase& c, const std::vector<Json>& lines) {
  std::map<std::string, Completion> completions;
  for (const Json& row : generated_rows(c, lines)) {
    const Json& usage = *row.find("usage");
    completions[row.find("id")->text] = {.token_ids = token_list(*row.find("token_ids")),
                                         .text = row.find("text")->text,
                                         .finish_reason = row.find("finish_reason")->text,
                                         .prompt_tokens = usage.find("prompt_tokens")->as_int().value_or(-1),
                                         .cached_tokens = usage.find("cached_tokens")->as_int().value_or(-1)};
  }
  EXPECT_EQ(completions.size(), lines.size());
  return completions;
}

/// Runs the fifty recorded cases of tiny-words; every token must be the reference's. The smallest gap between the two
/// best logits over all of them is 4.7: no rounding excuses another token.
inline void expect_reference_tokens(const GenerateCase& c) {
  const Json expected = parse_json(read_file(data_path("wordmaths/expected.json")), "expected.json");
  std::vector<Json> lines;
  for (size_t i = 0; i < expected.items.size(); ++i) {
    Json line = Json::object();
    line.set("id", std::to_string(i));
    line.set("prompt_token_ids", *expected.items[i].find("prompt_ids"));
    line.set("max_tokens", static_cast<int64_t>(expected.items[i].find("completion_ids")->items.size()));
    lines.push_back(std::move(line));
  }
  const auto completions = run_generate(c, lines);
  ASSERT_EQ(completions.size(), 50u);
  for (size_t i = 0; i < expected.items.size(); ++i) {
    EXPECT_EQ(completions.at(std::to_string(i)).token_ids, token_list(*expected.items[i].find("completion_ids")))
        << "case " << i << ", " << expected.items[i].find("kind")->text;
  }
}

}  // namespace octet::test
