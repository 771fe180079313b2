// A rank's share of a checkpoint in host memory: maps the shards one after the other, copies this rank's slices and
// checks every byte on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "model/checkpoint.h"
#include "model/stage.h"

namespace octet {

/// One tensor of a rank. `data` is aligned to 64 bytes and owned by the LocalTensors it came from.
struct LocalTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  ///< as stored, the split dimension cut to this rank's part
  const std::byte* data = nullptr;
  int64_t first_row = 0;  ///< fp8 weights and their scales: first logical row modulo 128 (see Slice)
};

/// Owner of a rank's tensors; move-only.
class LocalTensors {
 public:
  /// The tensor called `name`. Error{kInternal} when there is none.
  const LocalTensor& at(std::string_view name) const;
  size_t size() const { return tensors_.size(); }
  /// Bytes this rank read from files, mtp.* included.
  int64_t bytes_read() const { return bytes_read_; }
  /// Bytes of host memory that the tensors take.
  int64_t bytes_held() const { return bytes_held_; }

 private:
  friend class Loader;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::unordered_map<std::string, LocalTensor> tensors_;
  int64_t bytes_read_ = 0, bytes_held_ = 0;
};

struct LoadProgress {
  int64_t bytes_done = 0, bytes_total = 0;
  double seconds = 0;
  double gib_per_second() const { return seconds > 0 ? static_cast<double>(bytes_done) * 0x1p-30 / seconds : 0; }
};

/// Loads rank `rank` of `ranks` of a stage: only the tensors that it holds (Stage::holds). `progress` (may be empty) is
/// called every few seconds and once at the end. mtp.* tensors are read and checked, but not kept. Errors: those of
/// check_ranks; Error{kMemory} when the share does not fit; Error{kCheckpoint} that names tensor and element for a NaN
/// scale or fp8 weight, a non-finite F32 or BF16, a tid2eid entry that is no expert or occurs twice for a token.
LocalTensors load_local(const Checkpoint& checkpoint, const Stage& stage, int rank, int ranks,
                        const std::function<void(const LoadProgress&)>& progress = {});

/// The whole model as one stage.
inline LocalTensors load_local(const Checkpoint& checkpoint, int rank, int ranks,
                               const std::function<void(const LoadProgress&)>& progress = {}) {
  return load_local(checkpoint, whole_model(checkpoint.config), rank, ranks, progress);
}

}  // namespace octet
