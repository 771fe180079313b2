// The record of a run, and which runs may go on with which rows.
#include "engine/run_record.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/expect_error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

class Record : public testing::Test {
 protected:
  Record() {
    options_.run.model = folder_.path();
    options_.run.numerics = Numerics::kOfficial;
    options_.request.temperature = 0;
    options_.places["temperature"] = "--temperature";
    test::write_file(folder_.file("config.json"), "{}");
    test::write_file(folder_.file("tokenizer.json"), "{}");
  }
  Json make() const { return make_run_record(Command::kGenerate, options_, {.version = "1", .ranks = 2}); }
  void refused(std::initializer_list<std::string_view> parts, const Json& earlier) const {
    test::expect_error(Code::kUsage, parts, [&] { check_same_rows(earlier, make()); });
  }
  const test::TempFolder folder_;
  const std::string out_ = folder_.file("out");
  Options options_;
};

TEST_F(Record, SaysWhenRowsDependOnSteps) {
  const auto depends = [&] { return make().find("rows_depend_on_steps")->dump(); };
  EXPECT_EQ(depends(), "false");
  options_.run.campaign.ar_int8 = true;
  EXPECT_EQ(depends(), "true");
  options_.run.campaign.ar_int8_min_tokens = 1;
  EXPECT_EQ(depends(), "false");
}

TEST_F(Record, HoldsOptionsWithTheirOrigins) {
  ::setenv("NCCL_DEBUG", "WARN", 1);
  ::setenv("OMPI_MCA_orte_hnp_uri", "of this job", 1);
  const Json record = make();
  const Json& options = *record.find("options");
  EXPECT_EQ(options.find("temperature")->dump(), R"({"value":"0","from":"--temperature"})");
  EXPECT_EQ(options.find("max_batch")->dump(), R"({"value":"16","from":"default"})");
  EXPECT_EQ(options.find("top_p")->dump(), R"({"value":null,"from":"default"})");
  EXPECT_EQ(record.find("octet")->dump(), R"({"version":"1","build":"","cuda":false})");
  EXPECT_EQ(record.find("ranks")->dump(), "2");
  EXPECT_EQ(record.find("environment")->find("NCCL_DEBUG")->text, "WARN");
  EXPECT_EQ(record.find("environment")->find("PATH"), nullptr);
  EXPECT_EQ(record.find("environment")->find("OMPI_MCA_orte_hnp_uri"), nullptr);
  EXPECT_FALSE(record.find("command_line")->items.empty());
  EXPECT_TRUE(record.find("model")->find("files")->find("generation_config.json")->is(Json::Kind::kNull));
}

TEST_F(Record, HashesExactlyTheOptionsThatChangeRows) {
  const std::string hash = make().find("options_hash")->text;
  options_.run.max_batch = 3;
  options_.generate.resume = true;
  EXPECT_EQ(make().find("options_hash")->text, hash);
  options_.request.seed = 1;
  EXPECT_NE(make().find("options_hash")->text, hash);
}

TEST_F(Record, LetsARunGoOnThatDiffersInHowItRuns) {
  const Json earlier = make();
  options_.run.prefill_chunk = 5;
  options_.generate.output = "elsewhere";
  check_same_rows(earlier, make());
}

TEST_F(Record, RefusesOtherOptionsWithTheDifference) {
  const Json earlier = make();
  options_.request.temperature = 0.7;
  options_.request.top_k = 4;
  refused({"temperature: 0 -> 0.7", "top_k: none -> 4"}, earlier);
}

TEST_F(Record, RefusesAnotherModelAndNamesTheFile) {
  const Json earlier = make();
  test::write_file(folder_.file("tokenizer.json"), "{ }");
  refused({"the model's tokenizer.json: 44136fa355b3 -> "}, earlier);
}

TEST_F(Record, RefusesARecordThatLacksEverything) {
  refused({"temperature: none -> 0", "the model's config.json: none"}, Json::object());
}

TEST_F(Record, IsNeededWhereThereAreRows) {
  test::expect_error(Code::kUsage, {"3 finished lines", "out.run.json"}, [&] { begin_run_record(out_, make(), 3); });
  test::write_file(run_record_path(out_), "{");
  test::expect_error(Code::kUsage, {"out.run.json", "cannot be gone on with"},
                     [&] { begin_run_record(out_, make(), 3); });
  begin_run_record(out_, make(), 0);
  EXPECT_NE(test::read_file(run_record_path(out_)).find("\"options_hash\""), std::string::npos);
}

TEST_F(Record, RemembersTheRunsBefore) {
  begin_run_record(out_, make(), 0);
  begin_run_record(out_, make(), 1);
  begin_run_record(out_, make(), 2);
  const Json record = parse_json(test::read_file(run_record_path(out_)), "record");
  ASSERT_NE(record.find("earlier_runs"), nullptr);
  EXPECT_EQ(record.find("earlier_runs")->items.size(), 2u);
}

TEST_F(Record, StaysAsItWasWhenARunIsRefused) {
  begin_run_record(out_, make(), 0);
  const std::string before = test::read_file(run_record_path(out_));
  options_.request.seed = 9;
  test::expect_error(Code::kUsage, {"seed: 0 -> 9"}, [&] { begin_run_record(out_, make(), 1); });
  EXPECT_EQ(test::read_file(run_record_path(out_)), before);
}

}  // namespace
}  // namespace octet
