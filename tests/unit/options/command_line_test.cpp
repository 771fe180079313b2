// argv, YAML files and OCTET_* variables to settings, and the help made from the same list.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "help.h"
#include "options/environment.h"
#include "options/launcher.h"
#include "options_cli.h"
#include "version.h"

namespace octet {
namespace {

Invocation read(std::vector<const char*> words) {
  words.insert(words.begin(), "octet");
  return read_command_line(static_cast<int>(words.size()), words.data());
}

std::string refusal(const std::vector<const char*>& words) {
  try {
    read(words);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kUsage);
    return e.what();
  }
  return "";
}

/// A YAML file that lives as long as the test.
class Yaml : public testing::Test {
 protected:
  void SetUp() override { path_ = testing::TempDir() + "/octet_yaml_test.yaml"; }
  void TearDown() override { std::filesystem::remove(path_); }

  std::vector<Setting> settings(const std::string& text) {
    std::ofstream(path_) << text;
    return read_yaml(Command::kGenerate, path_);
  }
  /// The message, with the file's path as "F".
  std::string refusal_of(const std::string& text) {
    try {
      settings(text);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kUsage);
      std::string message = e.what();
      for (size_t at = message.find(path_); at != std::string::npos; at = message.find(path_)) {
        message.replace(at, path_.size(), "F");
      }
      return message;
    }
    return "";
  }
  std::string path_;
};

TEST(CommandLine, ReadsFlagsInEverySpelling) {
  const Invocation i =
      read({"generate", "-m", "M", "-oOUT", "--max-batch=3", "--max-new-tokens", "5", "--force", "-q"});
  ASSERT_EQ(i.flags.size(), 6u);
  EXPECT_EQ(i.flags[0].text, "M");
  EXPECT_EQ(i.flags[1].text, "OUT");
  EXPECT_EQ(i.flags[2].text, "true");
  EXPECT_EQ(i.flags[3].name, "max_tokens");
  EXPECT_EQ(i.flags[4].place, "--max-batch");
  EXPECT_EQ(i.flags[5].text, "warn");
}

TEST(CommandLine, TakesADashAsTheNameOfStdin) {
  const Invocation i = read({"generate", "-i", "-"});
  ASSERT_EQ(i.flags.size(), 1u);
  EXPECT_EQ(i.flags[0].text, "-");
}

TEST(CommandLine, SuggestsTheNearestCommandAndFlag) {
  EXPECT_NE(refusal({"genrate"}).find("did you mean 'generate'?"), std::string::npos);
  EXPECT_NE(refusal({"generate", "--max-bach", "3"}).find("did you mean '--max-batch'?"), std::string::npos);
  EXPECT_NE(refusal({"generate", "--max_batch=3"}).find("did you mean '--max-batch'?"), std::string::npos);
}

TEST(CommandLine, RefusesAMissingARepeatedOrASuperfluousValue) {
  EXPECT_NE(refusal({"generate", "--max-batch"}).find("--max-batch"), std::string::npos);
  EXPECT_EQ(refusal({"generate", "--model="}), "generate: '--model=' has no value");
  EXPECT_EQ(refusal({"generate", "-o", "--force"}), "--output has no value before '--force'");
  EXPECT_EQ(refusal({"generate", "--seed", "1", "--seed", "2"}), "--seed is given more than once");
  EXPECT_NE(refusal({"generate", "prompts.jsonl"}).find("unexpected argument 'prompts.jsonl'"), std::string::npos);
}

TEST(CommandLine, LetsANegativeNumberReachTheRangeCheck) {
  EXPECT_EQ(read({"generate", "--temperature", "-1"}).flags.at(0).text, "-1");
}

TEST(CommandLine, RefusesQuietTogetherWithALogLevel) {
  EXPECT_NE(refusal({"generate", "-q", "--log-level", "info"}), "");
  EXPECT_NE(refusal({"generate", "-q", "-v"}), "");
}

TEST(CommandLine, RefusesAnOptionOfAnotherCommand) {
  EXPECT_NE(refusal({"inspect", "-m", "M", "--max-batch", "2"}).find("unknown flag '--max-batch'"), std::string::npos);
  EXPECT_NE(refusal({"score", "--temperature", "1"}).find("unknown flag '--temperature'"), std::string::npos);
}

TEST(Help, ShowsEveryOptionWithItsDefault) {
  const std::string text = read({"generate", "--help"}).text;
  Options defaults;
  for (const OptionRow& row : option_rows(Command::kGenerate, defaults)) {
    EXPECT_NE(text.find(flag_name(row.info.name)), std::string::npos) << row.info.name;
  }
  EXPECT_LT(text.find("Examples:"), text.find("--model"));
  EXPECT_NE(text.find("tokens of prompts in one step, at most (default: 8192)"), std::string::npos);
  EXPECT_NE(text.find("(default: the model's limit)"), std::string::npos);
  EXPECT_NE(program_help().find("inspect"), std::string::npos);
  EXPECT_EQ(version_line().find("octet "), 0u);
}

TEST_F(Yaml, GivesKeysWithTheirLines) {
  const std::vector<Setting> s = settings("# run\nmax_batch: 3\n\nsummary: \"a b\"\n");
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].text, "3");
  EXPECT_EQ(s[1].text, "a b");
  EXPECT_EQ(s[1].place, path_ + ":4");
}

TEST_F(Yaml, AcceptsAnEmptyFile) {
  EXPECT_TRUE(settings("# nothing\n").empty());
}

TEST_F(Yaml, RefusesUnknownAndRepeatedKeys) {
  EXPECT_EQ(refusal_of("max_bach: 3\n"), "F:1: 'max_bach' is no option of octet generate; did you mean 'max_batch'?");
  EXPECT_EQ(refusal_of("seed: 1\nseed: 2\n"), "F:2: 'seed' was given already at F:1");
  EXPECT_NE(refusal_of("config: other.yaml\n"), "");
}

TEST_F(Yaml, RefusesWhatIsNotOneValuePerKey) {
  EXPECT_EQ(refusal_of("max_batch:\n"), "F:1: max_batch expects one value, found none");
  EXPECT_EQ(refusal_of("max_batch: [1, 2]\n"), "F:1: max_batch expects one value, found a list");
  EXPECT_EQ(refusal_of("- 1\n"), "F: expected lines of 'option: value'");
  EXPECT_EQ(refusal_of("seed: 1\n---\nseed: 2\n"), "F: more than one YAML document");
  EXPECT_EQ(refusal_of("seed: [1\n").find("F:2: "), 0u);
}

TEST_F(Yaml, IsAppliedBelowVariablesAndFlags) {
  std::ofstream(path_) << "max_batch: 2\ntop_k: 5\nseed: 6\n";
  setenv("OCTET_TOP_K", "7", 1);
  const Invocation i =
      read({"generate", "-m", "M", "-i", "I", "-o", "O", "--config", path_.c_str(), "--seed", "8", "-q"});
  const ResolvedOptions resolved = gather_options(i);
  unsetenv("OCTET_TOP_K");
  EXPECT_EQ(resolved.options.run.max_batch, 2);
  EXPECT_EQ(resolved.options.request.top_k, 7);
  EXPECT_EQ(resolved.options.request.seed, 8u);
  EXPECT_EQ(resolved.written.at("max_batch").place, path_ + ":1");
}

TEST(Environment, RefusesUnknownVariablesButNotThoseOfTests) {
  setenv("OCTET_MAX_BACH", "3", 1);
  setenv("OCTET_TEST_ANYTHING", "3", 1);
  std::string message;
  try {
    environment_settings(Command::kGenerate);
  } catch (const Error& e) {
    message = e.what();
  }
  unsetenv("OCTET_MAX_BACH");
  EXPECT_EQ(message, "environment variable OCTET_MAX_BACH names no option; did you mean 'OCTET_MAX_BATCH'?");
  EXPECT_TRUE(environment_settings(Command::kGenerate).empty());
  unsetenv("OCTET_TEST_ANYTHING");
}

TEST(Environment, LeavesOutVariablesOfOtherCommands) {
  setenv("OCTET_TEMPERATURE", "1", 1);
  EXPECT_TRUE(environment_settings(Command::kScore).empty());
  EXPECT_EQ(environment_settings(Command::kGenerate).size(), 1u);
  unsetenv("OCTET_TEMPERATURE");
}

TEST(Launcher, TakesTheRankThatMpirunGave) {
  setenv("OMPI_COMM_WORLD_RANK", "5", 1);
  EXPECT_EQ(launcher_rank(), 5);
  setenv("OMPI_COMM_WORLD_RANK", "x", 1);
  EXPECT_EQ(launcher_rank(), 0);
  unsetenv("OMPI_COMM_WORLD_RANK");
}

}  // namespace
}  // namespace octet
