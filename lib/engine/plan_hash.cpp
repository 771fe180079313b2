// Values are hashed one by one: structs have padding, whose bytes mean nothing.
#include "engine/plan_hash.h"

#include <bit>

namespace octet {
namespace {

class Hash {
 public:
  void add(uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) state_ = (state_ ^ ((value >> (8 * byte)) & 0xffu)) * 0x100000001b3u;
  }
  void add(int64_t value) { add(static_cast<uint64_t>(value)); }
  void add(int32_t value) { add(static_cast<int64_t>(value)); }
  void add(float value) { add(static_cast<uint64_t>(std::bit_cast<uint32_t>(value))); }
  template <class T>
  void add_list(const std::vector<T>& values) {
    add(static_cast<uint64_t>(values.size()));
    for (const T value : values) add(value);
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0xcbf29ce484222325u;
};

void add(Hash& hash, const ops::SampleParams& p) {
  for (const float value :
       {p.temperature, p.top_p, p.min_p, p.repetition_penalty, p.presence_penalty, p.frequency_penalty}) {
    hash.add(value);
  }
  hash.add(p.top_k);
  hash.add(p.seed);
  hash.add(p.position);
}

}  // namespace

uint64_t plan_hash(const BatchPlan& plan) {
  Hash hash;
  hash.add(static_cast<uint64_t>(plan.forks.size()));
  for (const PlanFork& f : plan.forks) {
    hash.add(f.from_slot);
    hash.add(f.to_slot);
    hash.add(static_cast<int32_t>(f.page.has_value()));
    hash.add(f.page ? f.page->first : 0);
    hash.add(f.page ? f.page->second : 0);
  }
  hash.add(static_cast<uint64_t>(plan.segments.size()));
  for (const PlanSegment& s : plan.segments) {
    hash.add(s.slot);
    hash.add(s.position);
    hash.add_list(s.tokens);
    hash.add_list(s.pages);
  }
  for (const PlanSample& s : plan.samples) {
    hash.add(s.row);
    hash.add(static_cast<int32_t>(s.draw));
    add(hash, s.params);
    hash.add(static_cast<uint64_t>(s.counts.size()));
    for (const ops::TokenCount& c : s.counts) {
      hash.add(c.id);
      hash.add(c.generated);
    }
  }
  return hash.value();
}

}  // namespace octet
