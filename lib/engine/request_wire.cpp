// One list of members serves both directions, so that they cannot differ.
#include "engine/request_wire.h"

#include <cstring>
#include <type_traits>

#include "base/error.h"

namespace octet {
namespace {

class Packer {
 public:
  template <class T>
  void value(const T& v) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  template <class T>
  void list(const std::vector<T>& items) {
    value(static_cast<uint64_t>(items.size()));
    bytes_.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
  }
  void text(const std::string& s) {
    value(static_cast<uint64_t>(s.size()));
    bytes_ += s;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  void value(T& v) {
    std::memcpy(&v, take(sizeof v), sizeof v);
  }
  template <class T>
  void list(std::vector<T>& items) {
    items.resize(count(sizeof(T)));
    if (!items.empty()) std::memcpy(items.data(), take(items.size() * sizeof(T)), items.size() * sizeof(T));
  }
  void text(std::string& s) {
    const size_t size = count(1);
    s.assign(take(size), size);
  }
  size_t count(size_t element) {
    uint64_t n = 0;
    value(n);
    require(n <= bytes_.size() / element, "packed requests that end early");
    return static_cast<size_t>(n);
  }
  bool empty() const { return bytes_.empty(); }

 private:
  const char* take(size_t size) {
    require(size <= bytes_.size(), "packed requests that end early");
    const char* at = bytes_.data();
    bytes_.remove_prefix(size);
    return at;
  }
  std::string_view bytes_;
};

/// `io` is a Packer with a const Request, or an Unpacker.
template <class Io, class R>
void visit_members(Io& io, R& r) {
  io.value(r.index);
  io.value(r.choice);
  io.list(r.tokens);
  io.value(r.prompt_tokens);
  io.value(r.prefill_tokens);
  io.value(r.max_new_tokens);
  io.value(r.sampling);
  io.value(r.ignore_eos);
  io.list(r.stop_token_ids);
  io.value(r.logprobs);
  io.value(r.repetition_stop);
  io.value(r.fork);
  io.value(r.prefix_id);
  io.value(r.prefix_uses);
}

}  // namespace

std::string pack_requests(const std::vector<Request>& requests) {
  Packer packer;
  packer.value(static_cast<uint64_t>(requests.size()));
  for (const Request& r : requests) {
    visit_members(packer, r);
    packer.value(static_cast<uint64_t>(r.stop.size()));
    for (const std::string& stop : r.stop) packer.text(stop);
  }
  return packer.take();
}

std::vector<Request> unpack_requests(std::string_view bytes) {
  Unpacker unpacker(bytes);
  std::vector<Request> requests(unpacker.count(1));
  for (Request& r : requests) {
    visit_members(unpacker, r);
    r.stop.resize(unpacker.count(1));
    for (std::string& stop : r.stop) unpacker.text(stop);
  }
  require(unpacker.empty(), "packed requests with something behind them");
  return requests;
}

}  // namespace octet
