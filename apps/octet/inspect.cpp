// `octet inspect`: the inventory of a checkpoint on stdout, from its headers alone.
#include <cstdio>
#include <string>

#include "base/error.h"
#include "commands.h"
#include "model/checkpoint.h"
#include "model/inventory.h"

namespace octet {

int run_inspect(const Options& options) {
  const std::string text = inventory_text(open_checkpoint(options.run.model));
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(Code::kEnvironment, "cannot write to standard output");
  }
  return 0;
}

}  // namespace octet
