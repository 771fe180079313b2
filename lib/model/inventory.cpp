// Folding and totals behind inventory.h; every number comes from the tensor table.
#include "model/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/safetensors.h"

namespace octet {
namespace {

/// Rank counts that the config can be split over; 1 is always one.
std::vector<int> possible_ranks(const ModelConfig& config) {
  std::vector<int> possible;
  for (const int ranks : {1, 2, 4, 8}) {
    try {
      check_ranks(config, ranks);
      possible.push_back(ranks);
    } catch (const Error&) {  // this count is simply not listed
    }
  }
  return possible;
}

/// The name with every number between dots replaced by "*".
std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    pattern += (begin > 0 ? "." : "") + (number ? "*" : part);
    begin = end + 1;
  }
  return pattern;
}

std::string_view class_of(const TensorSpec& spec) {
  const auto holds = [&](std::string_view part) { return spec.name.find(part) != spec.name.npos; };
  if (spec.draft) return "draft blocks (mtp)";
  if (holds("embed.") || spec.name.starts_with("head.")) return "embedding and head";
  if (holds(".indexer.") || holds(".compressor.")) return "compressors and indexers";
  if (holds(".attn.")) return "attention";
  if (holds(".ffn.experts.")) return "routed experts";
  if (holds(".ffn.shared_experts.")) return "shared experts";
  if (holds(".ffn.gate.")) return "routers";
  return "norms and hyper-connections";
}

int64_t local_bytes(const TensorSpec& spec, int rank, int ranks) {
  int64_t bytes = dtype_bytes(spec.dtype);
  for (const int64_t size : local_shape(spec, local_slice(spec, rank, ranks))) bytes *= size;
  return bytes;
}

/// Bytes of the rank that holds most; mtp.* is not held.
int64_t held_bytes(const Checkpoint& checkpoint, int ranks) {
  int64_t most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int64_t bytes = 0;
    for (const CheckpointTensor& tensor : checkpoint.tensors) {
      if (!tensor.spec.draft) bytes += local_bytes(tensor.spec, rank, ranks);
    }
    most = std::max(most, bytes);
  }
  return most;
}

double gib(int64_t bytes) {
  return static_cast<double>(bytes) * 0x1p-30;
}

/// Tensors that differ only in the numbers of their names.
struct Kind {
  std::string pattern;
  const TensorSpec* first;
  int64_t count;
};

std::vector<Kind> fold(const Checkpoint& checkpoint) {
  std::vector<Kind> kinds;
  std::map<std::pair<std::string, std::vector<int64_t>>, size_t> known;
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    std::string pattern = pattern_of(tensor.spec.name);
    const auto [at, is_new] = known.try_emplace({pattern, tensor.spec.shape}, kinds.size());
    if (is_new) kinds.push_back({std::move(pattern), &tensor.spec, 0});
    ++kinds[at->second].count;
  }
  return kinds;
}

std::string kind_lines(const Checkpoint& checkpoint, int ranks) {
  const std::vector<Kind> kinds = fold(checkpoint);
  size_t width = 0;
  for (const Kind& kind : kinds) width = std::max(width, kind.pattern.size());
  std::string text;
  for (const Kind& kind : kinds) {
    const TensorSpec& spec = *kind.first;
    text += fmt::format("{:<{}}  {:<6} {:<24} {}", kind.pattern, width, fmt::format("x{}", kind.count),
                        describe_tensor(spec.dtype, spec.shape), split_name(spec.split));
    if (spec.split != Split::kReplicate) {
      const std::vector<int64_t> local = local_shape(spec, local_slice(spec, 0, ranks));
      text += fmt::format(" -> [{}] at {} rank{}", fmt::join(local, ", "), ranks, ranks == 1 ? "" : "s");
    }
    text += '\n';
  }
  return text;
}

std::string class_lines(const Checkpoint& checkpoint) {
  struct Total {
    int64_t tensors = 0, bytes = 0;
  };
  std::map<std::string_view, Total> totals;
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    Total& total = totals[class_of(tensor.spec)];
    ++total.tensors;
    total.bytes += tensor.spec.bytes();
  }
  std::string text;
  for (const auto& [name, total] : totals) {
    text += fmt::format("{:<28} {:>7} tensors {:>16} bytes {:>9.3f} GiB\n", name, total.tensors, total.bytes,
                        gib(total.bytes));
  }
  return text;
}

}  // namespace

std::string inventory_text(const Checkpoint& checkpoint) {
  const std::vector<int> possible = possible_ranks(checkpoint.config);
  std::string text = kind_lines(checkpoint, possible.back());
  text += '\n' + class_lines(checkpoint) + '\n';
  for (const int ranks : possible) {
    const int64_t bytes = held_bytes(checkpoint, ranks);
    text += fmt::format("{:<28} {:>32} bytes {:>9.3f} GiB\n",
                        fmt::format("each of {} rank{} holds", ranks, ranks == 1 ? "" : "s"), bytes, gib(bytes),
                        checkpoint.config.mtp_blocks() > 0 ? " (draft blocks are checked, not held)" : "");
  }
  text += fmt::format("\n{} tensors, {} bytes in {} files\n", checkpoint.tensors.size(), checkpoint.tensor_bytes,
                      checkpoint.files.size());
  return text;
}

}  // namespace octet
