// Times and errors of the sums that a layer's ranks exchange, by size (octet bench reduce).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/mpi_session.h"
#include "options/options.h"

namespace octet {

/// The forms a sum can have: fp32 rows as the CPU's layers add them before they round to bf16, bf16 rows, int8 codes.
enum class SumForm { kFp32, kBf16, kInt8 };
std::string sum_form_name(SumForm form);

/// One size in one form. Times are the slowest rank's, over the repetitions.
struct ReduceFigures {
  int64_t tokens = 0;
  SumForm form = SumForm::kFp32;
  std::string path;  ///< "messages" or "peer memory"
  double median_us = 0, p10_us = 0, p90_us = 0;
  int64_t payload_bytes = 0;  ///< of one addend
  int64_t wire_bytes = 0;     ///< that a rank receives
  double relative_error = 0;  ///< |sum - fp64 sum| / |fp64 sum|, over the first rows
  double largest_error = 0;   ///< the largest, over the largest value of its block of 32
};

struct ReduceBench {
  int64_t hidden = 4096;        ///< columns, a multiple of 32
  std::vector<int64_t> tokens;  ///< rows
  int64_t repeat = 10;          ///< counted repetitions; one before them is not
  uint64_t seed = 0;            ///< of the addends: normal, each rank its own
};

/// Collective. All forms of a size run in turn, forth and back, so that a slow moment meets them all. Figures in the
/// order of sizes and forms, on rank 0; empty elsewhere. One rank sums with nobody: Error{kUsage}.
std::vector<ReduceFigures> bench_reduce(const ReduceBench& bench, const RunOptions& run, comm::MpiSession& session);

}  // namespace octet
