// From sweeps to boxes in one CUDA graph: captured_graph [DEVICE]. Sweeps are joined and voxelized, their cells are
// ordered and paired for a sparse convolution, and boxes are suppressed. Replays must give the bits of plain calls, for
// two inputs in turns. Memory comes from the driver: the CUDA runtime is not needed. Without a GPU calls are plain.
#include <dlfcn.h>
#include <pointmill.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr uint64_t kSweeps = 3, kPoints = 20000, kVoxels = 60000, kBoxes = 1000;
constexpr uint32_t kShape[3] = {40, 540, 540};
constexpr int kReplays = 1000;

[[noreturn]] void fail(const char* message) {
  std::fprintf(stderr, "%s\n", message);
  std::exit(1);
}

void check(pointmill_status status) {
  if (status != POINTMILL_OK) fail(pointmill_last_message());
}

template <class T>
T checked(pointmill::Result<T> result) {
  if (!result) fail(result.error().message.c_str());
  return std::move(*result);
}

// A function of the CUDA driver.
template <class F>
F driver(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) fail(name);
  return reinterpret_cast<F>(found);
}

// Two inputs of one shape, of which one is where the operators read it.
struct Input {
  template <class Of>
  Input(uint64_t rows, uint64_t columns, bool gpu, Of value) {
    for (int which = 0; which < 2; which++) {
      for (uint64_t i = 0; i < rows; i++) {
        const auto row = value(static_cast<float>(i), static_cast<float>(which));
        of[which].insert(of[which].end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(columns));
      }
    }
    array = pointmill::array(of[0].data(), rows, columns);
    if (!gpu) return;
    unsigned long long address = 0;
    if (driver<int (*)(unsigned long long*, size_t)>("cuMemAlloc_v2")(&address, bytes()) != 0) fail("no memory");
    array.data = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
    array.place = POINTMILL_DEVICE_MEMORY;
  }

  void show(int which) {
    if (array.place == POINTMILL_HOST) {
      array.data = of[which].data();
      return;
    }
    const auto copy = driver<int (*)(unsigned long long, const void*, size_t)>("cuMemcpyHtoD_v2");
    if (copy(reinterpret_cast<uintptr_t>(array.data), of[which].data(), bytes()) != 0) fail("no copy");
  }

  size_t bytes() const { return of[0].size() * sizeof(float); }

  std::vector<float> of[2];
  pointmill_array array;
};

std::array<float, 4> point(float i, float which) {
  const float range = 2.0f + 0.0024f * i;
  return {range * std::cos(0.01f * i + which), range * std::sin(0.01f * i), 0.2f * std::fmod(i, 31.0f) - 3.0f, 0.5f};
}

std::array<float, 7> box(float i, float which) {
  return {std::fmod(7.3f * i, 21.0f) - 10.0f, std::fmod(3.1f * i, 17.0f) - which, -1.0f, 4.0f, 2.0f, 1.6f, 0.1f * i};
}

std::array<float, 1> score(float i, float which) {
  return {std::fmod(37.0f * i + which, 1000.0f) / 1000.0f};
}

template <class T, class Make, class... Args>
void make(pointmill::Handle<T>& handle, Make create, const Args&... args) {
  handle = checked(pointmill::make<T>(create, args...));
}

struct Pipeline {
  explicit Pipeline(const char* device) {
    make(stream, pointmill_stream_create, device);
    const pointmill_stream* on = stream.get();
    const bool gpu = pointmill_stream_is_gpu(on) != 0;
    for (uint64_t i = 0; i < kSweeps; i++) inputs.emplace_back(kPoints, 4, gpu, point);
    inputs.emplace_back(kBoxes, 7, gpu, box);
    inputs.emplace_back(kBoxes, 1, gpu, score);

    make(densifier, pointmill_densifier_create, on);
    auto voxels = pointmill::defaults(pointmill_voxelize_params_init);
    voxels.max_voxels = kVoxels;
    make(voxelizer, pointmill_voxelizer_create, on, &voxels);
    auto cells = pointmill::defaults(pointmill_grid_sample_params_init);
    cells.has_range = 1;
    cells.capacity = kVoxels;
    std::copy(voxels.voxel_size, voxels.voxel_size + 3, cells.grid_size);
    std::copy(voxels.range, voxels.range + 6, cells.range);
    make(sampler, pointmill_grid_sampler_create, on, &cells);
    auto order = pointmill::defaults(pointmill_serialize_params_init);
    order.depth = 10;
    make(serializer, pointmill_serializer_create, on, &order);
    make(pairs, pointmill_index_pairs_create, on, nullptr);
    make(suppressor, pointmill_nms_create, on, nullptr);
  }

  // Queues all work. On a GPU it waits for nothing.
  void run() {
    std::array<pointmill_array, kSweeps> sweeps;
    std::array<pointmill_pose, kSweeps> poses{};
    std::array<float, kSweeps> lags;
    for (uint64_t i = 0; i < kSweeps; i++) {
      sweeps[i] = inputs[i].array;
      for (int k = 0; k < 4; k++) poses[i].m[5 * k] = 1.0;
      poses[i].m[3] = 0.7 * static_cast<double>(i);
      lags[i] = 0.1f * static_cast<float>(i);
    }
    check(pointmill_densifier_run(densifier.get(), sweeps.data(), poses.data(), lags.data(), kSweeps));
    const auto points = checked(pointmill::view(pointmill_densifier_array, densifier, "points"));
    const uint64_t splits[2] = {0, kSweeps * kPoints};
    check(pointmill_voxelizer_run(voxelizer.get(), &points, splits, 2));
    check(pointmill_grid_sampler_run(sampler.get(), &points, nullptr, 0));
    const auto places = checked(pointmill::view(pointmill_grid_sampler_array, sampler, "grid_coord"));
    const auto num_places = checked(pointmill::view(pointmill_grid_sampler_array, sampler, "counts"));
    check(pointmill_serializer_run(serializer.get(), &places, nullptr, 1, &num_places));
    const auto cells = checked(pointmill::view(pointmill_voxelizer_array, voxelizer, "coords"));
    const auto num_cells = checked(pointmill::view(pointmill_voxelizer_array, voxelizer, "counts"));
    check(pointmill_index_pairs_run(pairs.get(), &cells, &num_cells, 1, &kShape, nullptr, nullptr));
    const auto &boxes = inputs[kSweeps].array, &scores = inputs[kSweeps + 1].array;
    check(pointmill_nms_run(suppressor.get(), &boxes, &scores, nullptr, nullptr));
  }

  // Results on the host, for which it waits.
  std::vector<std::vector<uint32_t>> results() {
    std::vector<std::vector<uint32_t>> all;
    const auto add = [&](auto get, const auto& handle, const char* name) {
      auto shape = checked(pointmill::view(get, handle, name));
      all.emplace_back(shape.rows * shape.columns);
      shape.data = all.back().data();
      shape.place = POINTMILL_HOST;
      check(get(handle.get(), name, &shape));
    };
    for (const char* name : {"coords", "mean", "counts"}) add(pointmill_voxelizer_array, voxelizer, name);
    for (const char* name : {"order", "inverse"}) add(pointmill_serializer_array, serializer, name);
    for (const char* name : {"table", "counts"}) add(pointmill_index_pairs_array, pairs, name);
    for (const char* name : {"rows", "num_kept"}) add(pointmill_worker_array, suppressor, name);
    return all;
  }

  void show(int which) {
    for (auto& input : inputs) input.show(which);
  }

  pointmill::Handle<pointmill_stream> stream;
  std::vector<Input> inputs;
  pointmill::Handle<pointmill_densifier> densifier;
  pointmill::Handle<pointmill_voxelizer> voxelizer;
  pointmill::Handle<pointmill_grid_sampler> sampler;
  pointmill::Handle<pointmill_serializer> serializer;
  pointmill::Handle<pointmill_index_pairs> pairs;
  pointmill::Handle<pointmill_worker> suppressor;
};

uint32_t queue(void* pipeline) {
  static_cast<Pipeline*>(pipeline)->run();
  return POINTMILL_OK;
}

// Microseconds that the host is busy with some work, while the GPU has nothing else to do.
template <class Work>
double host_time(const Pipeline& pipeline, Work work) {
  constexpr int rounds = 100;
  std::chrono::duration<double, std::micro> took{};
  for (int i = 0; i < rounds; i++) {
    check(pointmill_stream_synchronize(pipeline.stream.get()));
    const auto start = std::chrono::steady_clock::now();
    work();
    took += std::chrono::steady_clock::now() - start;
  }
  return took.count() / rounds;
}

}  // namespace

int main(int argc, char** argv) {
  Pipeline pipeline(argc > 1 ? argv[1] : "auto");
  std::vector<std::vector<uint32_t>> expected[2];
  for (const int which : {1, 0, 1, 0}) {
    pipeline.show(which);
    pipeline.run();
    expected[which] = pipeline.results();
  }
  if (expected[0] == expected[1]) fail("two inputs have one result");
  const auto &counts = expected[0][2], &kept = expected[0].back();
  std::printf("%u voxels, %u of %u boxes kept\n", counts[0], kept[0], static_cast<unsigned>(kBoxes));
  if (pointmill_stream_is_gpu(pipeline.stream.get()) == 0) return 0;

  pointmill::Handle<pointmill_graph> graph;
  make(graph, pointmill_stream_capture, pipeline.stream.get(), queue, static_cast<void*>(&pipeline));
  for (int i = 0; i < kReplays; i++) {
    pipeline.show(i % 2);
    check(pointmill_graph_launch(graph.get()));
    if (pipeline.results() != expected[i % 2]) fail("a replay has other bits");
  }
  std::printf("%d replays have the bits of plain calls\n", kReplays);
  const double calls = host_time(pipeline, [&] { pipeline.run(); });
  const double replay = host_time(pipeline, [&] { check(pointmill_graph_launch(graph.get())); });
  std::printf("microseconds of the host: %.0f for six calls, %.0f for a replay\n", calls, replay);
  return 0;
}
