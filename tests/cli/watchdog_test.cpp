// A rank that stops while the others wait: one message that names it and its place, code 8, and nobody is left.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/run_program.h"

namespace octet::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Processes of this run, by the marker in their environment; all of them with rank -1, else the octet of that rank.
std::vector<pid_t> processes(const std::string& marker, int rank) {
  const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    const std::string variables = slurp(entry.path() / "environ");
    if (variables.find("OCTET_TEST_MARK=" + marker) == variables.npos) continue;
    if (rank >= 0 && variables.find(wanted + std::string(1, '\0')) == variables.npos) continue;
    if (slurp(entry.path() / "comm") == "octet\n") found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

/// A run of two requests, one of them long, that is known to be past its first steps.
class LongRun {
 public:
  LongRun(int ranks, const std::string& timeout, const std::string& flags = "")
      : mark_(std::to_string(getpid()) + "_" + std::to_string(++count_)), folder_(fs::temp_directory_path() / mark_) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "in.jsonl")
        << R"({"id":"short","prompt_token_ids":[0,301,28],"max_tokens":1})"
        << "\n"
        << R"({"id":"long","prompt_token_ids":[0,301,28],"max_tokens":60,"ignore_eos":true})"
        << "\n";
    const std::string command = "OCTET_TEST_MARK=" + mark_ + " " + OCTET_MPIRUN + " --oversubscribe -np " +
                                std::to_string(ranks) + " " + OCTET_PROGRAM + " generate -m " + OCTET_TEST_DATA +
                                "/tiny-words -i " + (folder_ / "in.jsonl").string() + " -o " + output() +
                                " --timeout " + timeout + " " + flags;
    thread_ = std::thread([this, command] { outcome_ = run_shell(command); });
    for (int i = 0; i < 600 && slurp(output() + ".partial").empty(); ++i) std::this_thread::sleep_for(50ms);
  }
  ~LongRun() {
    if (thread_.joinable()) thread_.join();
    fs::remove_all(folder_);
  }

  void send(int rank, int signal) const {
    const std::vector<pid_t> found = processes(mark_, rank);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(::kill(found[0], signal), 0);
  }
  const Outcome& wait() {
    thread_.join();
    return outcome_;
  }
  size_t left() const { return processes(mark_, -1).size(); }
  std::string output() const { return (folder_ / "out.jsonl").string(); }

 private:
  static inline int count_ = 0;
  std::string mark_;
  fs::path folder_;
  Outcome outcome_;
  std::thread thread_;
};

void expect_a_stopped_rank_is_named(int ranks, int victim, const std::string& flags = "") {
  LongRun run(ranks, "1.5", flags);
  run.send(victim, SIGSTOP);
  const auto stopped = std::chrono::steady_clock::now();
  const Outcome& outcome = run.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - stopped, 12s);
  EXPECT_EQ(outcome.code, 8) << outcome.err;
  ASSERT_EQ(messages(outcome).size(), 1u) << outcome.err;
  const std::string message = messages(outcome)[0];
  EXPECT_EQ(message.find("octet: rank " + std::to_string(victim) + " "), 0u) << message;
  EXPECT_NE(message.find("#"), message.npos) << message;
  EXPECT_NE(message.find("its process is stopped"), message.npos) << message;
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(run.left(), 0u);
}

TEST(Watchdog, NamesAStoppedRank) {
  expect_a_stopped_rank_is_named(2, 1);
  expect_a_stopped_rank_is_named(4, 2);
}

TEST(Watchdog, WorksWhenRankZeroIsStopped) {
  expect_a_stopped_rank_is_named(2, 0);
  expect_a_stopped_rank_is_named(4, 0);
}

/// Through peer memory the sum itself has the time-out, and knows its phase.
TEST(Int8Timeout, NamesAStoppedRankItsPhaseAndEpoch) {
  for (const int victim : {0, 2}) {
    LongRun run(4, "1.5", "--ar-int8 --ar-int8-min-tokens 1 --graph-cap 0");
    run.send(victim, SIGSTOP);
    const auto stopped = std::chrono::steady_clock::now();
    const Outcome& outcome = run.wait();
    EXPECT_LT(std::chrono::steady_clock::now() - stopped, 12s);
    EXPECT_EQ(outcome.code, 8) << outcome.err;
    ASSERT_EQ(messages(outcome).size(), 1u) << outcome.err;
    const std::string message = messages(outcome)[0];
    // In the sum, or, if it was stopped elsewhere, by the watchdog.
    const bool by_the_sum =
        message.find("waits for rank " + std::to_string(victim) + ": not come to its") != message.npos;
    const bool by_the_watchdog = message.find("octet: rank " + std::to_string(victim) + " ") == 0;
    EXPECT_TRUE(by_the_sum || by_the_watchdog) << message;
    std::this_thread::sleep_for(500ms);
    EXPECT_EQ(run.left(), 0u);
  }
}

TEST(Int8Timeout, ADelayBelowItChangesNothing) {
  LongRun run(2, "5", "--ar-int8 --ar-int8-min-tokens 1 --graph-cap 0");
  run.send(1, SIGSTOP);
  std::this_thread::sleep_for(1s);
  run.send(1, SIGCONT);
  EXPECT_EQ(run.wait().code, 0);
}

TEST(Watchdog, NamesAStoppedRankOfAnyStage) {
  expect_a_stopped_rank_is_named(4, 0, "--pp 2");
  expect_a_stopped_rank_is_named(4, 3, "--pp 2");
}

TEST(Watchdog, ADelayBelowTheTimeoutChangesNothing) {
  LongRun run(2, "5");
  run.send(1, SIGSTOP);
  std::this_thread::sleep_for(1s);
  run.send(1, SIGCONT);
  const Outcome& outcome = run.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(messages(outcome).empty()) << outcome.err;
  EXPECT_NE(slurp(run.output()).find("\"long\""), std::string::npos);
}

/// Without a time-out in reach the stopped rank would be waited for: what ends the runs above is the watchdog.
TEST(Watchdog, NegativeControlALongTimeoutKeepsWaiting) {
  LongRun run(2, "600");
  run.send(0, SIGSTOP);
  std::this_thread::sleep_for(5s);
  EXPECT_EQ(run.left(), 2u);
  run.send(0, SIGCONT);
  EXPECT_EQ(run.wait().code, 0);
}

}  // namespace
}  // namespace octet::test
