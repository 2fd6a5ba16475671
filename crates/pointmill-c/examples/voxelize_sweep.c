/* A KITTI sweep (x, y, z, intensity of float) into voxels: voxelize_sweep FILE.bin [DEVICE]. Without a
 * file it makes a sweep. */
#include <math.h>
#include <pointmill.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *what) {
  fprintf(stderr, "%s: %s\n", what, pointmill_last_message());
  return 1;
}

static float *points_of(const char *path, size_t *rows) {
  float *points = NULL;
  if (path == NULL) {
    *rows = 20000;
    points = malloc(*rows * 4 * sizeof(float));
    for (size_t i = 0; points != NULL && i < *rows; i++) {
      const float angle = 0.01f * (float)i, range = 2.0f + 0.001f * (float)i;
      points[4 * i] = range * cosf(angle);
      points[4 * i + 1] = range * sinf(angle);
      points[4 * i + 2] = 0.1f * (float)(i % 17) - 1.0f;
      points[4 * i + 3] = (float)(i % 5) / 5.0f;
    }
    return points;
  }
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    const long bytes = ftell(file);
    rewind(file);
    if (bytes > 0 && (points = malloc((size_t)bytes)) != NULL) {
      *rows = fread(points, 4 * sizeof(float), (size_t)bytes / (4 * sizeof(float)), file);
    }
  }
  fclose(file);
  return points;
}

int main(int argc, char **argv) {
  size_t rows = 0;
  float *points = points_of(argc > 1 ? argv[1] : NULL, &rows);
  if (points == NULL) {
    perror("points");
    return 1;
  }
  pointmill_stream *stream = NULL;
  pointmill_voxelizer *voxelizer = NULL;
  pointmill_voxelize_params params;
  int code = 0;
  pointmill_voxelize_params_init(&params);
  params.max_voxels = 40000;

  pointmill_array cloud, counts;
  memset(&cloud, 0, sizeof cloud);
  cloud.struct_size = sizeof cloud;
  cloud.data = points;
  cloud.rows = rows;
  cloud.columns = 4;
  cloud.type = POINTMILL_F32;
  uint32_t counted[6] = {0};
  memset(&counts, 0, sizeof counts);
  counts.struct_size = sizeof counts;
  counts.data = counted;
  counts.rows = 1;
  counts.columns = 6;
  counts.type = POINTMILL_U32;

  if (pointmill_stream_create(argc > 2 ? argv[2] : "auto", &stream) != POINTMILL_OK) {
    code = failed("stream");
  } else if (pointmill_voxelizer_create(stream, &params, &voxelizer) != POINTMILL_OK) {
    code = failed("voxelizer");
  } else if (pointmill_voxelizer_run(voxelizer, &cloud, NULL, 0) != POINTMILL_OK) {
    code = failed("run");
  } else if (pointmill_voxelizer_array(voxelizer, "counts", &counts) != POINTMILL_OK) {
    code = failed("counts");
  } else {
    printf("%zu points, %u voxels, %u occupied cells, %u points kept\n", rows, counted[0], counted[1], counted[5]);
  }
  pointmill_voxelizer_destroy(voxelizer);
  pointmill_stream_destroy(stream);
  free(points);
  return code;
}
