// One run of `octet score` over the prompts of a golden file, and how far it is from the recorded values.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/support/tensors.h"

namespace octet::test {

/// Whether this run has time for everything (OCTET_TEST_LONG=1, as CI sets it). Otherwise the cases that differ from
/// others only in their combination are skipped, so that the suite stays under ten minutes.
bool long_lane();

struct GoldenCase {
  std::string config;  ///< tiny, tiny-dspark, tiny-l4, tiny-l128
  std::string numerics = "exact";
  int ranks = 1;
  int64_t chunk = 8192;
  int64_t longest = 1000;  ///< prompts beyond this many tokens are left out
  bool only_long = false;  ///< runs in the long lane only
  std::string flags = {};  ///< further flags
  bool streams = true;     ///< dump the streams too, which ends every layer with a plain post
};

/// Relative L2 distances, one per recorded tensor.
struct GoldenDistances {
  std::vector<double> logits;               ///< last prompt row and every decode step, per prompt
  std::vector<std::vector<double>> layers;  ///< [layer][prompt], streams at the last prompt position
  std::string worst_logits;                 ///< name of the farthest
  std::string log;                          ///< what the run said
  std::string dump;                         ///< bytes of its logits file
};

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? INFINITY : 0.5 * (v[(v.size() - 1) / 2] + v[v.size() / 2]);
}
inline double worst(const std::vector<double>& v) {
  return v.empty() ? INFINITY : *std::max_element(v.begin(), v.end());
}

/// Folder of the synthetic checkpoint of this config, written by `octet synth` on first use.
std::string synthetic_model(const std::string& config);

/// Prompt names of a golden file: p1, p3, ...
std::vector<std::string> prompts(const Tensors& golden);

/// Runs `octet score` (environment settings before it) and compares.
GoldenDistances run_golden(const GoldenCase& c, const std::string& environment = "");

/// Runs `octet score --split L` for one prompt of L tokens: all recorded prefill rows come out of the prefill itself.
/// The distance of those rows.
double run_prefill_rows(const GoldenCase& c, const std::string& prompt);

}  // namespace octet::test
