// See run_program.h. The paths of the program and of mpirun come from CMake.
#include "tests/cli/run_program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace octet::test {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Outcome run_shell(const std::string& command) {
  const std::string base = testing::TempDir() + "/octet_run_" + std::to_string(getpid());
  const int status = std::system(("( " + command + " ) >" + base + ".out 2>" + base + ".err </dev/null").c_str());
  Outcome outcome;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = read_file(base + ".out");
  outcome.err = read_file(base + ".err");
  std::filesystem::remove(base + ".out");
  std::filesystem::remove(base + ".err");
  return outcome;
}

Outcome octet_alone(const std::string& arguments) {
  return run_shell(std::string(OCTET_PROGRAM) + " " + arguments);
}

Outcome octet_on(int ranks, const std::string& arguments, const std::string& environment) {
  return run_shell(environment + " " + OCTET_MPIRUN + " --oversubscribe -np " + std::to_string(ranks) + " " +
                   OCTET_PROGRAM + " " + arguments);
}

std::vector<std::string> messages(const Outcome& outcome) {
  std::vector<std::string> found;
  std::istringstream lines(outcome.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("octet: ", 0) == 0) found.push_back(line);
  }
  return found;
}

}  // namespace octet::test
