// See host.h.
#include "base/host.h"

#include <unistd.h>

#include <array>

namespace octet {

std::string host_name() {
  std::array<char, 256> name = {};  // the last byte stays zero: a long name is cut without one
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace octet
