// Marks the functions that both compilers build: one text for an arithmetic that CPU and CUDA must share to the bit.
#pragma once

#ifdef __CUDACC__
#define OCTET_HOST_DEVICE __host__ __device__
#else
#define OCTET_HOST_DEVICE
#endif
