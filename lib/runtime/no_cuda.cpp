// The CUDA factory of a build without CUDA.
#include "base/error.h"
#include "runtime/runner.h"

namespace octet {

std::unique_ptr<Runner> make_cuda_runner(const RunnerSetup&) {
  throw Error(Code::kEnvironment, "this octet was built without CUDA: use --backend cpu");
}

}  // namespace octet
