// The enqueue of a TensorRT plugin: points in, voxels out, in memory of the engine and on its stream. No
// call waits, so that an engine with it can be captured. The checks of pointmill compile it against a
// stand-in for TensorRT's header.
#include <NvInferRuntime.h>
#include <pointmill.hpp>

class VoxelizePlugin {
 public:
  /// Inputs: points [N, 4]. Outputs: voxels [V, M * 4], coords [V, 3], counts [6].
  int32_t enqueue(const nvinfer1::PluginTensorDesc* inputs, const nvinfer1::PluginTensorDesc* outputs,
                  const void* const* in, void* const* out, void*, cudaStream_t stream) noexcept {
    if (stream != made_for_ && !make(stream)) return 1;
    const auto points = pointmill::array(static_cast<const float*>(in[0]), rows(inputs[0]), 4, POINTMILL_DEVICE_MEMORY);
    if (pointmill_voxelizer_run(voxelizer_.get(), &points, nullptr, 0) != POINTMILL_OK) return 1;
    const uint64_t room = rows(outputs[0]);
    const auto slots = static_cast<uint64_t>(outputs[0].dims.d[1]);
    auto voxels = pointmill::array(static_cast<float*>(out[0]), room, slots, POINTMILL_DEVICE_MEMORY);
    auto coords = pointmill::array(static_cast<int32_t*>(out[1]), room, 3, POINTMILL_DEVICE_MEMORY);
    auto counts = pointmill::array(static_cast<uint32_t*>(out[2]), 1, 6, POINTMILL_DEVICE_MEMORY);
    return give("voxels", voxels) && give("coords", coords) && give("counts", counts) ? 0 : 1;
  }

 private:
  static uint64_t rows(const nvinfer1::PluginTensorDesc& tensor) { return static_cast<uint64_t>(tensor.dims.d[0]); }

  bool give(const char* name, pointmill_array& to) {
    return pointmill_voxelizer_array(voxelizer_.get(), name, &to) == POINTMILL_OK;
  }

  // Handles belong to a stream: they are made once for the stream of the engine.
  bool make(cudaStream_t raw) {
    auto stream = pointmill::make<pointmill_stream>(pointmill_stream_of_cuda, 0u, static_cast<void*>(raw));
    if (!stream) return false;
    auto voxelizer = pointmill::make<pointmill_voxelizer>(pointmill_voxelizer_create, stream->get(), nullptr);
    if (!voxelizer) return false;
    stream_ = std::move(*stream);
    voxelizer_ = std::move(*voxelizer);
    made_for_ = raw;
    return true;
  }

  pointmill::Handle<pointmill_stream> stream_;
  pointmill::Handle<pointmill_voxelizer> voxelizer_;
  cudaStream_t made_for_ = reinterpret_cast<cudaStream_t>(-1);
};

int32_t enqueue(VoxelizePlugin& plugin, const nvinfer1::PluginTensorDesc* inputs,
                const nvinfer1::PluginTensorDesc* outputs, const void* const* in, void* const* out,
                cudaStream_t stream) {
  return plugin.enqueue(inputs, outputs, in, out, nullptr, stream);
}
