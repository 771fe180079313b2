// Runs the real program the way a user does, with or without mpirun, and catches what it says.
#pragma once

#include <string>
#include <vector>

namespace octet::test {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

/// Runs a shell command. Open MPI's own lines about a job that ended early are left in err.
Outcome run_shell(const std::string& command);
/// octet ARGUMENTS as one process, without a launcher.
Outcome octet_alone(const std::string& arguments);
/// mpirun --oversubscribe -np RANKS octet ARGUMENTS, with the given NAME=VALUE settings before it.
Outcome octet_on(int ranks, const std::string& arguments, const std::string& environment = "");

/// Lines of err that the program itself wrote as its message: "octet: ...".
std::vector<std::string> messages(const Outcome& outcome);

}  // namespace octet::test
