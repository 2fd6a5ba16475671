/* A consumer that owns all memory, as a TensorRT engine does: arrays have the size of their capacity,
 * the number of voxels stays where it is, and no call waits. Where the CUDA driver is, its memory is of
 * the GPU, from the driver itself; else it is of the host. */
#include <dlfcn.h>
#include <pointmill.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 5000, VOXELS = 2000, SLOTS = 10 };

typedef int (*cu_alloc)(unsigned long long *, size_t);
typedef int (*cu_copy)(unsigned long long, const void *, size_t);

static cu_alloc alloc_of;
static cu_copy copy_of;

static int use_driver(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) return 0;
  *(void **)&alloc_of = dlsym(driver, "cuMemAlloc_v2");
  *(void **)&copy_of = dlsym(driver, "cuMemcpyHtoD_v2");
  return alloc_of != NULL && copy_of != NULL;
}

static void *memory(int gpu, size_t bytes) {
  unsigned long long address = 0;
  if (!gpu) return calloc(1, bytes);
  return alloc_of(&address, bytes) == 0 ? (void *)(uintptr_t)address : NULL;
}

static pointmill_array of(void *data, uint64_t rows, uint64_t columns, uint32_t type, int gpu) {
  pointmill_array array;
  memset(&array, 0, sizeof array);
  array.struct_size = sizeof array;
  array.data = data;
  array.rows = rows;
  array.columns = columns;
  array.type = type;
  array.place = gpu ? POINTMILL_DEVICE_MEMORY : POINTMILL_HOST;
  return array;
}

int main(void) {
  pointmill_stream *stream = NULL;
  pointmill_voxelizer *voxelizer = NULL;
  pointmill_voxelize_params params;
  if (pointmill_stream_create("auto", &stream) != POINTMILL_OK) goto failed;
  /* The context of the device is that of this thread after the driver was asked for it. */
  const int gpu = pointmill_stream_is_gpu(stream) != 0 && use_driver();
  pointmill_voxelize_params_init(&params);
  params.max_voxels = VOXELS;
  params.max_points_per_voxel = SLOTS;
  if (pointmill_voxelizer_create(stream, &params, &voxelizer) != POINTMILL_OK) goto failed;

  static float sweep[POINTS * 4];
  for (int i = 0; i < POINTS; i++) {
    sweep[4 * i] = 0.02f * (float)(i % 1000);
    sweep[4 * i + 1] = 0.5f * (float)(i / 1000);
    sweep[4 * i + 3] = (float)i / POINTS;
  }
  void *input = memory(gpu, sizeof sweep);
  void *voxels = memory(gpu, sizeof(float) * VOXELS * SLOTS * 4);
  void *coords = memory(gpu, sizeof(int32_t) * VOXELS * 3);
  void *counts = memory(gpu, sizeof(uint32_t) * 6);
  if (input == NULL || voxels == NULL || coords == NULL || counts == NULL) {
    fputs("no memory\n", stderr);
    return 1;
  }
  if (!gpu) memcpy(input, sweep, sizeof sweep);
  else if (copy_of((unsigned long long)(uintptr_t)input, sweep, sizeof sweep) != 0) return 1;

  pointmill_array points = of(input, POINTS, 4, POINTMILL_F32, gpu);
  pointmill_array bindings[3] = {of(voxels, VOXELS, SLOTS * 4, POINTMILL_F32, gpu),
                                 of(coords, VOXELS, 3, POINTMILL_I32, gpu), of(counts, 1, 6, POINTMILL_U32, gpu)};
  const char *names[3] = {"voxels", "coords", "counts"};
  for (int call = 0; call < 3; call++) {
    if (pointmill_voxelizer_run(voxelizer, &points, NULL, 0) != POINTMILL_OK) goto failed;
    for (int i = 0; i < 3; i++) {
      if (pointmill_voxelizer_array(voxelizer, names[i], &bindings[i]) != POINTMILL_OK) goto failed;
    }
  }
  uint32_t counted[6];
  pointmill_array read = of(counted, 1, 6, POINTMILL_U32, 0);
  if (pointmill_voxelizer_array(voxelizer, "counts", &read) != POINTMILL_OK) goto failed;
  printf("%s: %u of %d voxels, %u occupied cells\n", gpu ? "gpu" : "host", counted[0], VOXELS, counted[1]);
  if (!gpu) {
    free(input);
    free(voxels);
    free(coords);
    free(counts);
  }
  pointmill_voxelizer_destroy(voxelizer);
  pointmill_stream_destroy(stream);
  return counted[0] == 0;
failed:
  fprintf(stderr, "%s\n", pointmill_last_message());
  pointmill_voxelizer_destroy(voxelizer);
  pointmill_stream_destroy(stream);
  return 1;
}
