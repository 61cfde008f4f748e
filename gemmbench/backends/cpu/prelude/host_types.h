// Types of the runtime's host side that declarations next to a kernel may name; nothing is ever called.
#pragma once

struct CUstream_st;
struct CUevent_st;
using cudaStream_t = CUstream_st*;
using cudaEvent_t = CUevent_st*;
using CUstream = CUstream_st*;
enum cudaError_t { cudaSuccess = 0 };
using cudaError = cudaError_t;
