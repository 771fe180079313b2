// cpu_check.h for code compiled with -march=x86-64-v3; this file itself is compiled for any x86-64.
#include "cpu/cpu_check.h"

namespace octet {

const char* missing_cpu_feature() {
  __builtin_cpu_init();
  const bool complete = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  return complete ? nullptr : "a processor with AVX2, FMA and BMI2 (x86-64-v3)";
}

}  // namespace octet
