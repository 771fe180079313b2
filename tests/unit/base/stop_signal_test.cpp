// Stop signals, each case in a process of its own.
#include "base/stop_signal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace octet {
namespace {

/// Runs `action` in a child and returns how it ended.
template <class Action>
int status_of(Action&& action) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(action());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(StopSignal, OnlySetsAFlag) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const int status = status_of([signal] {
      catch_stop_signals();
      if (stop_requested() || !stop_signal().empty()) return 1;
      std::raise(signal);
      if (!stop_requested()) return 2;
      return stop_signal() == (signal == SIGINT ? "SIGINT" : "SIGTERM") ? 0 : 3;
    });
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST(StopSignal, TheSecondOneEndsTheProcess) {
  for (const int second : {SIGINT, SIGTERM}) {
    const int status = status_of([second] {
      catch_stop_signals();
      std::raise(SIGTERM);
      std::raise(second);
      return 0;
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), second);
  }
}

TEST(StopSignal, AnIgnoredOneStaysIgnored) {
  const int status = status_of([] {
    std::signal(SIGINT, SIG_IGN);
    catch_stop_signals();
    std::raise(SIGINT);
    return stop_requested() ? 1 : 0;
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(StopSignal, ComesWhenTheParentEnds) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int status = status_of([&ends] {
    int ready[2];
    if (::pipe(ready) != 0) return 1;
    if (::fork() == 0) {
      catch_stop_signals();
      stop_with_parent();
      char byte = 'r';
      if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
      for (int tries = 0; tries < 500 && !stop_requested(); ++tries) ::usleep(10'000);
      byte = stop_requested() ? 'y' : 'n';
      ::_exit(::write(ends[1], &byte, 1) == 1 ? 0 : 1);
    }
    char byte = 0;
    return ::read(ready[0], &byte, 1) == 1 ? 0 : 1;
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
  char answer = 0;
  EXPECT_EQ(::read(ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(StopSignal, AReaderThatGoesAwayIsNoSignal) {
  const int status = status_of([] {
    ignore_broken_pipes();
    int ends[2];
    if (::pipe(ends) != 0) return 1;
    ::close(ends[0]);
    return ::write(ends[1], "x", 1) == -1 ? 0 : 2;
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace octet
