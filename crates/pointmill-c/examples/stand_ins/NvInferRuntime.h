// A stand-in for TensorRT: the few names that the example uses.
#pragma once
#include <cstdint>
typedef struct CUstream_st* cudaStream_t;
namespace nvinfer1 {
struct Dims {
  int32_t nbDims;
  int64_t d[8];
};
struct PluginTensorDesc {
  Dims dims;
};
}  // namespace nvinfer1
