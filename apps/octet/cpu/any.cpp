// cpu_check.h for code compiled for the compiler's default processor, or for one that the builder chose.
#include "cpu/cpu_check.h"

namespace octet {

const char* missing_cpu_feature() {
  return nullptr;
}

}  // namespace octet
