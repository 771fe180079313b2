// See stage.h. Layers are told by their names, as the checkpoint tells them.
#include "model/stage.h"

#include <fmt/core.h>

#include <charconv>

#include "base/error.h"

namespace octet {

bool Stage::holds(std::string_view name) const {
  constexpr std::string_view kLayers = "layers.";
  if (name.starts_with(kLayers)) {
    int64_t layer = -1;
    std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), layer);
    return has_layer(layer);
  }
  return name.starts_with("embed.") ? is_first : is_last;
}

Stage whole_model(const ModelConfig& config) {
  return {.first_layer = 0, .layers = config.num_hidden_layers, .is_first = true, .is_last = true};
}

Stage stage_of(const ModelConfig& config, int stages, int stage) {
  const int64_t base = config.num_hidden_layers / stages, larger = config.num_hidden_layers % stages;
  return {.first_layer = stage * base + (stage < larger ? stage : larger),
          .layers = base + (stage < larger ? 1 : 0),
          .is_first = stage == 0,
          .is_last = stage == stages - 1};
}

void check_stages(const ModelConfig& config, int ranks, int stages) {
  if (stages < 1 || ranks % stages != 0) {
    throw Error(Code::kUsage, fmt::format("{} ranks do not divide into --pp {} stages", ranks, stages));
  }
  if (stages > config.num_hidden_layers) {
    throw Error(Code::kUsage,
                fmt::format("--pp {} has more stages than the model's {} layers", stages, config.num_hidden_layers));
  }
  check_ranks(config, ranks / stages);
}

}  // namespace octet
