// In programs compiled with -march=x86-64-v3 only: says what an older processor lacks, where it would otherwise stop at
// an illegal instruction without a word. Runs before every other initialiser, because those already use new
// instructions; so this file is compiled for any x86-64 and calls nothing of the C++ library.
#include <unistd.h>

#include <cstdio>

#include "base/error.h"
#include "options/launcher.h"

namespace octet {
namespace {

[[gnu::constructor(101)]] void check_processor() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return;
  if (launcher_rank() == 0) {
    std::fputs("octet: needs a processor with AVX2, FMA and BMI2; build with -DOCTET_CPU_ARCH= for an older one\n",
               stderr);
  }
  _exit(static_cast<int>(Code::kEnvironment));
}

}  // namespace
}  // namespace octet
