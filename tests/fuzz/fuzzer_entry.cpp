// The function libFuzzer calls, once per program; CMake names the target.
#include "tests/fuzz/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return octet::fuzz::OCTET_FUZZ_TARGET(data, size);
}
