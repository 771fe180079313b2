// One pass over the shards in file order; rows of a slice are contiguous, columns are strided.
#include "model/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"
#include "model/value_check.h"

namespace octet {
namespace {

constexpr int64_t kAlignment = 64;   // of every tensor: a cache line, and what SIMD and DMA like
constexpr size_t kPageBytes = 4096;  // of the whole allocation
constexpr double kProgressSeconds = 2;

int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

int64_t bytes_of(DType dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = dtype_bytes(dtype);
  for (const int64_t size : shape) bytes *= size;
  return bytes;
}

/// "[3, 17]" for the flat index of a stored element.
std::string element_name(const std::vector<int64_t>& shape, int64_t index) {
  std::vector<int64_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    at[d] = index % shape[d];
    index /= shape[d];
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

}  // namespace

/// State of one load_local call.
class Loader {
 public:
  Loader(const Checkpoint& checkpoint, const Stage& stage, int rank, int ranks,
         const std::function<void(const LoadProgress&)>& progress)
      : checkpoint_(checkpoint), progress_(progress) {
    plan(stage, rank, ranks);
    allocate();
  }

  LocalTensors run() {
    size_t next = 0;
    while (next < parts_.size()) {
      const int file = parts_[next].tensor->file;
      const MappedFile shard(checkpoint_.path(file));
      for (; next < parts_.size() && parts_[next].tensor->file == file; ++next) load(parts_[next], shard.bytes());
    }
    report(/*now=*/true);
    result_.bytes_read_ = bytes_done_;
    return std::move(result_);
  }

 private:
  /// One tensor's slice, and where it goes (nowhere for mtp.*).
  struct Part {
    const CheckpointTensor* tensor;
    Slice slice;
    std::byte* destination;
  };

  void plan(const Stage& stage, int rank, int ranks) {
    for (const CheckpointTensor& tensor : checkpoint_.tensors) {
      const TensorSpec& spec = tensor.spec;
      if (!stage.holds(spec.name)) continue;
      const Slice slice = local_slice(spec, rank, ranks);
      LocalTensor local{spec.dtype, local_shape(spec, slice), nullptr, slice.first_row};
      const int64_t bytes = bytes_of(spec.dtype, local.shape);
      bytes_total_ += bytes;
      parts_.push_back({&tensor, slice, nullptr});
      if (spec.draft) continue;
      result_.bytes_held_ += aligned(bytes);
      result_.tensors_.emplace(spec.name, std::move(local));
    }
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
      return std::pair(a.tensor->file, a.tensor->offset) < std::pair(b.tensor->file, b.tensor->offset);
    });
  }

  void allocate() {
    const size_t bytes = (static_cast<size_t>(result_.bytes_held_) + kPageBytes - 1) / kPageBytes * kPageBytes;
    result_.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes)));
    if (!result_.memory_) {
      throw Error(Code::kMemory, fmt::format("{}: this rank's {:.2f} GiB of weights do not fit in host memory",
                                             checkpoint_.folder, static_cast<double>(bytes) * 0x1p-30));
    }
    std::byte* next = result_.memory_.get();
    for (Part& part : parts_) {
      if (part.tensor->spec.draft) continue;
      LocalTensor& local = result_.tensors_.at(part.tensor->spec.name);
      local.data = part.destination = next;
      next += aligned(bytes_of(local.dtype, local.shape));
    }
  }

  void load(const Part& part, std::span<const std::byte> file) {
    const TensorSpec& spec = part.tensor->spec;
    const int64_t element = dtype_bytes(spec.dtype);
    const int64_t row = bytes_of(spec.dtype, spec.shape) / spec.shape[0];
    std::byte* destination = part.destination;
    // `first` and `bytes` count within the tensor.
    const auto take = [&](int64_t first, int64_t bytes) {
      const int64_t begin = part.tensor->offset + first;
      if (begin + bytes > static_cast<int64_t>(file.size())) {
        throw Error(Code::kCheckpoint, fmt::format("{}: the file has become shorter since its header was read",
                                                   checkpoint_.path(part.tensor->file)));
      }
      const auto source = file.subspan(static_cast<size_t>(begin), static_cast<size_t>(bytes));
      check(spec, source, first / element);
      if (destination != nullptr) {
        std::memcpy(destination, source.data(), source.size());
        destination += source.size();
      }
      bytes_done_ += bytes;
    };
    if (part.slice.dim == 0) {
      take(part.slice.begin * row, (part.slice.end - part.slice.begin) * row);
    } else {
      const int64_t columns = (part.slice.end - part.slice.begin) * element;
      for (int64_t r = 0; r < spec.shape[0]; ++r) take(r * row + part.slice.begin * element, columns);
    }
    report(/*now=*/false);
  }

  void check(const TensorSpec& spec, std::span<const std::byte> bytes, int64_t first_element) const {
    const auto fail = [&](int64_t element, std::string_view problem) {
      throw Error(Code::kCheckpoint, fmt::format("tensor {} {}: element {} {}", spec.name, dtype_name(spec.dtype),
                                                 element_name(spec.shape, first_element + element), problem));
    };
    if (const auto bad = first_non_finite(spec.dtype, bytes)) fail(*bad, "is NaN or infinite");
    if (spec.fill.kind != FillKind::kTokenExperts) return;
    const int64_t experts = checkpoint_.config.n_routed_experts;
    if (const auto bad = first_bad_expert(bytes, spec.shape[1], experts)) {
      int64_t found = 0;
      std::memcpy(&found, bytes.data() + static_cast<size_t>(*bad) * sizeof(found), sizeof(found));
      fail(*bad,
           fmt::format("is {}, expected an expert from 0 to {} that its token does not have yet", found, experts - 1));
    }
  }

  void report(bool now) {
    if (!progress_) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (!now && seconds - reported_seconds_ < kProgressSeconds) return;
    reported_seconds_ = seconds;
    progress_({bytes_done_, bytes_total_, seconds});
  }

  const Checkpoint& checkpoint_;
  const std::function<void(const LoadProgress&)>& progress_;
  std::vector<Part> parts_;
  LocalTensors result_;
  int64_t bytes_done_ = 0, bytes_total_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double reported_seconds_ = 0;
};

const LocalTensor& LocalTensors::at(std::string_view name) const {
  const auto found = tensors_.find(std::string(name));
  require(found != tensors_.end(), fmt::format("no tensor called {} is loaded", name));
  return found->second;
}

LocalTensors load_local(const Checkpoint& checkpoint, const Stage& stage, int rank, int ranks,
                        const std::function<void(const LoadProgress&)>& progress) {
  check_ranks(checkpoint.config, ranks);
  return Loader(checkpoint, stage, rank, ranks, progress).run();
}

}  // namespace octet
