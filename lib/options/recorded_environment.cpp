// See recorded_environment.h.
#include "options/recorded_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string_view>

namespace octet {
namespace {

constexpr std::array<std::string_view, 5> kPrefixes = {"OCTET_", "OMPI_", "NCCL_", "CUDA_", "UCX_"};
/// Written by mpirun for its ranks: addresses and numbers of the job, other ones each time.
constexpr std::array<std::string_view, 9> kOfTheJob = {"OMPI_APP_CTX",       "OMPI_ARGV",        "OMPI_COMM",
                                                       "OMPI_FILE_LOCATION", "OMPI_FIRST_RANKS", "OMPI_MCA_ess_",
                                                       "OMPI_MCA_orte_",     "OMPI_NUM_APP_CTX", "OMPI_UNIVERSE_SIZE"};

bool matters(std::string_view line) {
  const auto begins = [line](std::string_view prefix) { return line.starts_with(prefix); };
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), begins) &&
         std::none_of(kOfTheJob.begin(), kOfTheJob.end(), begins);
}

}  // namespace

std::map<std::string, std::string> recorded_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const size_t equals = line.find('=');
    if (matters(line) && equals != line.npos) variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace octet
