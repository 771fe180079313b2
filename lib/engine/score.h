// Teacher forcing: from the logits of a step to log-probabilities and dumped tensors. Rank 0 only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "engine/rows.h"
#include "engine/sequence.h"
#include "io/prompts.h"
#include "io/safetensors.h"
#include "model/config.h"

namespace octet {

/// ln of the softmax of `logits` at `token`, in double.
double log_softmax_at(std::span<const float> logits, TokenId token);

/// Tensors of many sequences that arrive interleaved, streamed into one safetensors file in order of index. Holds back
/// only what arrives before its turn.
class OrderedDump {
 public:
  /// `tensors[index]` are the tensors of one sequence, all F32, in the order in which its values arrive.
  OrderedDump(const std::string& path, const std::map<int64_t, std::vector<TensorDeclaration>>& tensors);

  /// The next values of the sequence.
  void append(int64_t index, std::span<const float> values);
  /// Completes the file. Precondition: everything declared has arrived.
  void close();

 private:
  struct Pending {
    int64_t missing = 0;  ///< values that have not arrived
    std::vector<float> held;
  };
  void advance();

  std::map<int64_t, Pending> pending_;  ///< sequences that are not complete; the first one's values go to the file
  SafetensorsWriter writer_;
};

/// The dump of `<id>.logits` [1 + continuation, vocab] of every request.
std::unique_ptr<OrderedDump> make_logits_dump(const std::string& path, const std::vector<Prompt>& prompts,
                                              const std::vector<Request>& requests, int64_t vocab_size);
/// The dump of `<id>.layerK.last` [hc, D] of every request and layer.
std::unique_ptr<OrderedDump> make_streams_dump(const std::string& path, const std::vector<Prompt>& prompts,
                                               const std::vector<Request>& requests, const ModelConfig& config);

/// Scores of the sequences in flight.
class Scorer {
 public:
  /// `prompts` must outlive the scorer. `dump` may be null; then it is not called.
  Scorer(const std::vector<Prompt>& prompts, OrderedDump* dump) : prompts_(prompts), dump_(dump) {}

  /// Takes the logits of a step; row i belongs to origins[i].
  void observe(std::span<const SampleOrigin> origins, Mat<const float> logits);
  /// The finished score of a request; the scorer forgets it.
  Score take(int64_t index);

 private:
  const std::vector<Prompt>& prompts_;
  OrderedDump* dump_;
  std::map<int64_t, Score> scores_;
};

}  // namespace octet
