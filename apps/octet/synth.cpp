// `octet synth`: a checkpoint whose weights follow from a config file and a seed.
#include "model/synth.h"
#include "base/log.h"
#include "commands.h"

namespace octet {

int run_synth(const Options& options) {
  write_synthetic_checkpoint(options.synth.config, options.synth.seed, options.synth.output);
  log::info("{}: written from seed {}", options.synth.output, options.synth.seed);
  return 0;
}

}  // namespace octet
