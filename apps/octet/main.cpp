// The program: command line -> MPI session -> options -> command -> exit code. Whatever goes wrong becomes one message
// from one rank and the same exit code from all of them.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/stop_signal.h"
#include "comm/mpi_session.h"
#include "commands.h"
#include "options/launcher.h"
#include "options_cli.h"
#include "rank_options.h"

namespace octet {
namespace {

/// mpirun kills the other ranks when the first one fails; rank 0 must have spoken by then.
constexpr std::chrono::milliseconds kSpeakingTime{500};

void print_message(const std::string& sentence) {
  const std::string line = fmt::format("octet: {}\n", sentence);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string message_of(const Error& e) {
  if (e.code() != Code::kInternal) return e.what();
  return fmt::format("internal error: {} ({}:{})", e.what(), e.where().file, e.where().line);
}

/// The function of a command that every rank calls.
int (*work_of_ranks(Command command))(const Options&, comm::MpiSession&) {
  switch (command) {
    case Command::kScore: return run_score;
    case Command::kAb: return run_ab;
    case Command::kBench: return run_bench;
    case Command::kDoctor: return run_doctor;
    case Command::kReplay: return run_replay;
    default: return run_generate;
  }
}

int run_on_ranks(const Invocation& invocation, comm::MpiSession& session) {
  try {
    const Options options = options_of_all_ranks(invocation, session);
    return work_of_ranks(invocation.command)(options, session);
  } catch (const comm::AgreedError& e) {
    if (session.rank() == 0) print_message(e.what());
    return static_cast<int>(e.code());
  } catch (const std::exception& thrown) {
    const Error e = comm::MpiSession::as_error(thrown);
    // Ranks that waited in vain fail together, and the one they waited for may wake up with an error of its own.
    if (e.code() == Code::kWatchdog || session.hang_was_reported()) session.end_hanging(message_of(e));
    const auto code = session.meet_failing(e.code());
    if (!code) {
      print_message(fmt::format("rank {}: {}", session.rank(), message_of(e)));
      session.abort(e.code());
    }
    if (session.rank() == 0) print_message(message_of(e));
    return static_cast<int>(*code);
  }
}

/// The function of a command that is work for one process, nullptr for the others.
int (*work_for_one(Command command))(const Options&) {
  switch (command) {
    case Command::kGenerate:
    case Command::kDoctor:
    case Command::kReplay:
    case Command::kAb:
    case Command::kBench:
    case Command::kScore: return nullptr;
    case Command::kRender: return run_render;
    case Command::kInspect: return run_inspect;
    case Command::kSynth: return run_synth;
    case Command::kPlan: return run_plan;
    case Command::kTokenize: return run_tokenize;
    case Command::kParse: return run_parse;
  }
  return nullptr;
}

int run(int argc, char** argv, int rank) {
  const Invocation invocation = read_command_line(argc, argv);
  if (!invocation.text.empty()) {
    if (rank == 0) std::fwrite(invocation.text.data(), 1, invocation.text.size(), stdout);
    return 0;
  }
  if (const auto work = work_for_one(invocation.command)) {  // under mpirun the first process does it
    return rank == 0 ? work(gather_options(invocation).options) : 0;
  }
  if (launcher_size() > 0) stop_with_parent();  // before MPI: mpirun may end while the ranks start
  comm::MpiSession session(argc, argv);
  catch_stop_signals();
  return run_on_ranks(invocation, session);
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  const int rank = octet::launcher_rank();
  octet::ignore_broken_pipes();
  try {
    return octet::run(argc, argv, rank);
  } catch (const std::exception& thrown) {  // before MPI: every rank sees the same command line
    const octet::Error e = octet::comm::MpiSession::as_error(thrown);
    if (rank == 0) octet::print_message(octet::message_of(e));
    if (rank != 0) std::this_thread::sleep_for(octet::kSpeakingTime);
    return static_cast<int>(e.code());
  }
}
