// See version.h.
#include "version.h"

#include <fmt/core.h>

#include "build_facts.h"
#include "comm/mpi_version.h"
#include "git_commit.h"

namespace octet {
namespace {

Json versions(Json compiled, Json loaded) {
  return Json::object({{"compiled", std::move(compiled)}, {"loaded", std::move(loaded)}});
}

}  // namespace

std::string version_line() {
  return fmt::format("octet {} ({} build, {})\n", kVersion, kBuildType,
                     kCudaBuilt ? "CPU and CUDA backends" : "CPU backend, built without CUDA");
}

Json version_json() {
  const std::string commit = kGitCommit;
  Json backends = Json::array({Json("cpu")});
  if (kCudaBuilt) backends.push("cuda");
  return Json::object({{"version", kVersion},
                       {"git_commit", commit.empty() ? Json() : Json(commit)},
                       {"build_type", kBuildType},
                       {"compiler", kCompiler},
                       {"cpu_arch", kCpuArch},
                       {"mpi", versions(comm::compiled_mpi_version(), comm::loaded_mpi_version())},
                       {"cuda", versions({}, {})},
                       {"nccl", versions({}, {})},
                       {"backends", std::move(backends)},
                       {"gpu_archs", Json::array()}});
}

}  // namespace octet
