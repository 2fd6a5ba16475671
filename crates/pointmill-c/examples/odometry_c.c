/* A drive along a room that it makes, from C: the trajectory and the map, into memory of its own:
 * odometry_c [DEVICE]. */
#include <pointmill.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 5, SIDE = 60, POINTS = 5 * SIDE * SIDE };

static int failed(const char *what) {
  fprintf(stderr, "%s: %s\n", what, pointmill_last_message());
  return 1;
}

/* The floor and the four walls of a room, seen from `moved` along it. */
static void room(float *to, float moved) {
  for (int i = 0; i < SIDE; i++) {
    for (int j = 0; j < SIDE; j++) {
      const float a = 0.1f * (float)i - 3.0f, b = 0.1f * (float)j - 3.0f;
      const float c = b + 2.0f;
      const float seen[5][3] = {{a, b, -1.0f}, {a, 3.0f, c}, {a, -3.0f, c}, {3.0f, a, c}, {-3.0f, a, c}};
      for (int k = 0; k < 5; k++, to += 3) {
        to[0] = seen[k][0] - moved;
        to[1] = seen[k][1];
        to[2] = seen[k][2];
      }
    }
  }
}

/* An array of the result: its shape first, then its values, which the caller frees. */
static double *values(pointmill_odometry *odometry, const char *name, pointmill_array *array) {
  double *memory;
  memset(array, 0, sizeof *array);
  array->struct_size = sizeof *array;
  if (pointmill_odometry_array(odometry, name, array) != POINTMILL_OK) return NULL;
  memory = malloc((array->rows * array->columns + 1) * sizeof *memory);
  if (memory == NULL) return NULL;
  array->data = memory;
  if (pointmill_odometry_array(odometry, name, array) == POINTMILL_OK) return memory;
  free(memory);
  return NULL;
}

static int drive(pointmill_odometry *odometry, float *points) {
  for (int i = 0; i < SWEEPS; i++) {
    pointmill_array sweep;
    pointmill_step step;
    memset(&sweep, 0, sizeof sweep);
    memset(&step, 0, sizeof step);
    sweep.struct_size = sizeof sweep;
    step.struct_size = sizeof step;
    sweep.data = points;
    sweep.rows = POINTS;
    sweep.columns = 3;
    sweep.type = POINTMILL_F32;
    room(points, 0.1f * (float)i);
    if (pointmill_odometry_push(odometry, &sweep, NULL, &step) != POINTMILL_OK) return failed("push");
    if (step.status > POINTMILL_SWEEP_TRACKED) return 1;
  }
  return 0;
}

static int check(pointmill_odometry *odometry) {
  pointmill_array of_poses, of_map;
  double *poses = values(odometry, "poses", &of_poses), *map = values(odometry, "map", &of_map);
  int code = poses == NULL || map == NULL ? failed("array") : 0;
  if (code == 0) {
    printf("%lu poses, the last at %.3f; %lu points of the map\n", (unsigned long)of_poses.rows,
           poses[16 * (SWEEPS - 1) + 3], (unsigned long)of_map.rows);
    code = of_poses.rows != SWEEPS || of_map.rows < 500 || of_map.columns != 3;
    for (int i = 0; code == 0 && i < SWEEPS; i++) code = fabs(poses[16 * i + 3] - 0.1 * i) > 0.02;
  }
  free(poses);
  free(map);
  return code;
}

int main(int argc, char **argv) {
  pointmill_stream *stream = NULL;
  pointmill_odometry *odometry = NULL;
  pointmill_odometry_params params;
  float *points = malloc(3 * POINTS * sizeof *points);
  int code = points == NULL;
  pointmill_odometry_params_init(&params);
  params.voxel_size = 0.5;
  params.min_range = 0.1;
  const char *device = argc > 1 ? argv[1] : "auto";
  if (code == 0 && pointmill_stream_create(device, &stream) != POINTMILL_OK) code = failed("stream");
  if (code == 0 && pointmill_odometry_create(stream, &params, &odometry) != POINTMILL_OK) code = failed("odometry");
  if (code == 0) code = drive(odometry, points);
  if (code == 0) code = check(odometry);
  pointmill_odometry_destroy(odometry);
  pointmill_stream_destroy(stream);
  free(points);
  return code;
}
