// Runs every test on every rank. Rank 0 prints the usual report; what failed on another rank is gathered after each
// test and printed with that rank's number, and the exit code is agreed: a failure on one rank fails the run. An
// exception ends all ranks at once, because the others may be waiting in a collective.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "comm/mpi_session.h"
#include "tests/mpi/ranks.h"

namespace octet::test {
namespace {

comm::MpiSession* the_session = nullptr;

/// Every rank's text, in rank order, on every rank. Characters travel as doubles: failures are rare.
std::vector<std::string> gather_texts(const std::string& own) {
  std::vector<std::string> texts;
  const double length[] = {static_cast<double>(own.size())};
  const std::vector<double> lengths = session().all_gather(length);
  const auto longest = static_cast<size_t>(*std::max_element(lengths.begin(), lengths.end()));
  if (longest == 0) return std::vector<std::string>(lengths.size());
  std::vector<double> padded(own.begin(), own.end());
  padded.resize(longest);
  const std::vector<double> all = session().all_gather(padded);
  for (size_t r = 0; r < lengths.size(); ++r) {
    std::string& text = texts.emplace_back();
    for (size_t i = 0; i < static_cast<size_t>(lengths[r]); ++i) {
      text.push_back(static_cast<char>(static_cast<int>(all[r * longest + i])));
    }
  }
  return texts;
}

/// Collects this rank's failures and shows those of all ranks when a test ends.
class FailuresOfAllRanks : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (!part.failed()) return;
    const char* file = part.file_name() == nullptr ? "unknown file" : part.file_name();
    failures_ += std::string(file) + ":" + std::to_string(part.line_number()) + ": " + part.message() + "\n";
    if (std::string_view(part.message()).find("C++ exception") != 0) return;
    std::fprintf(stderr, "rank %d: %s", session().rank(), failures_.c_str());
    session().abort(Code::kInternal);
  }
  void OnTestEnd(const testing::TestInfo&) override {  // called before the printer's: appended last
    const std::vector<std::string> texts = gather_texts(failures_);
    for (size_t r = 1; r < texts.size() && is_root(); ++r) {  // rank 0 has printed its own
      if (!texts[r].empty()) ADD_FAILURE() << "on rank " << r << ":\n" << texts[r];
    }
    failures_.clear();
  }

  std::string failures_;
};

int run_all(comm::MpiSession& session) {
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (session.rank() != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailuresOfAllRanks);  // gtest owns it
  const bool passed = RUN_ALL_TESTS() == 0;
  return session.agree(passed) ? 0 : 1;
}

}  // namespace

comm::MpiSession& session() {
  return *the_session;
}

/// Not run by default: `--gtest_also_run_disabled_tests --gtest_filter=*OneRankAlone` shows that the run fails and that
/// the rank is named.
TEST(Ranks, DISABLED_FailOnOneRankAlone) {
  EXPECT_NE(session().rank(), std::min(5, session().size() - 1)) << "on purpose";
}

}  // namespace octet::test

int main(int argc, char** argv) {
  octet::comm::MpiSession session(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  octet::test::the_session = &session;
  octet::log::configure(session.rank(), octet::log::Level::kWarn);
  return octet::test::run_all(session);
}
