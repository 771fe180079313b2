// The int8 sum over MPI messages, for the dispatch in comm/int8_collectives.cpp and for tests that compare transports.
#pragma once

#include "base/tensor.h"
#include "kernels/context.h"
#include "kernels/int8_codec.h"

namespace octet::comm {

/// The sum that all_reduce_int8 promises, through MPI_Alltoallv and MPI_Allgatherv only. Needs two ranks or more; sums
/// slices of 2^18 blocks, whose owners may differ from those of another transport: a block's bytes do not depend on its
/// owner.
void sum_int8_by_messages(cpu::Context&, const int8::Rows& out, Mat<const float> x);

}  // namespace octet::comm
