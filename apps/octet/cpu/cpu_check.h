// Whether this processor has what the code was compiled for. CMake picks one of the two definitions beside this file.
// main asks before it does anything else: otherwise an old processor stops at an illegal instruction without a word.
#pragma once

namespace octet {

/// What the processor lacks, as the end of "this octet needs ..."; nullptr when all is there. Uses no library code,
/// because inline functions of the library may have been compiled for the newer processor.
const char* missing_cpu_feature();

}  // namespace octet
