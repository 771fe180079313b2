// See rank_options.h.
#include "rank_options.h"

#include <fmt/core.h>

#include <string>

#include "base/error.h"
#include "base/log.h"
#include "build_facts.h"
#include "options/launcher.h"

namespace octet {
namespace {

void check_launcher(int ranks) {
  const int started = launcher_size();
  if (started == 0 || started == ranks) return;
  throw Error(Code::kEnvironment,
              fmt::format("mpirun started {} ranks but MPI sees {}: octet was built with another MPI", started, ranks));
}

void configure_log(int rank, LogLevel level) {
  static_assert(static_cast<int>(log::Level::kError) == static_cast<int>(LogLevel::kError));
  log::configure(rank, static_cast<log::Level>(level));
}

}  // namespace

Options options_of_all_ranks(const Invocation& invocation, comm::MpiSession& session) {
  ResolvedOptions resolved;
  session.funnel([&] {
    check_launcher(session.size());
    resolved = gather_options(invocation);
    resolve_run(resolved.options.run, {.cuda = kCudaBuilt});
  });
  const std::string own = describe_options(invocation.command, resolved.options);
  std::string first = own;
  session.broadcast(first);
  session.funnel([&] {
    if (own == first) return;
    throw Error(Code::kUsage, "other options than rank 0's: compare OCTET_* variables and --config files of the hosts");
  });
  configure_log(session.rank(), resolved.options.log_level);
  for (const auto& [name, setting] : resolved.written) log::debug("{} = {} ({})", name, setting.text, setting.place);
  if (launcher_size() == 0) log::info("one rank, for there is no launcher; mpirun -np 8 octet ... starts eight");
  return resolved.options;
}

}  // namespace octet
