// How a line's tokens are drawn when the line does not say: flags, then the model's generation_config.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/prompts.h"
#include "kernels/sample.h"
#include "options/options.h"

namespace octet {

/// What holds for lines that give no value.
struct SamplingDefaults {
  double temperature = 0;
  double top_p = 1;
  int64_t top_k = 0;
  std::string source;  ///< where temperature comes from, for the log
};

/// DIR/generation_config.json: its temperature, top_p and top_k if do_sample is true; else, and without the file,
/// temperature 0. Error{kCheckpoint} if it is there but wrong.
SamplingDefaults read_generation_config(const std::string& model_dir);

/// The flags that are given replace the model's values.
SamplingDefaults with_flags(SamplingDefaults defaults, const RequestOptions& flags);

/// The line's values, else the defaults; a line without a seed gets derived_seed(base_seed, its id).
ops::SampleParams sampling_of(const Prompt& prompt, const SamplingDefaults& defaults, uint64_t base_seed);

/// splitmix64(FNV-1a-64 of the id, xor splitmix64(base)): the same for an id wherever its line stands.
uint64_t derived_seed(uint64_t base, std::string_view id);

}  // namespace octet
