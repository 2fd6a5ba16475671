/* Made of the lists of the workers by crates/pointmill-c/tests/unit/header.rs; included by pointmill.h. */
#ifndef POINTMILL_WORKERS_H
#define POINTMILL_WORKERS_H

#ifdef __cplusplus
extern "C" {
#endif

enum pointmill_nms_metric {
  POINTMILL_NMS_METRIC_BEV = 0,
  POINTMILL_NMS_METRIC_VOLUME = 1,
  POINTMILL_NMS_METRIC_CIRCLE = 2,
};

enum pointmill_nms_origin {
  POINTMILL_NMS_ORIGIN_BOTTOM = 0,
  POINTMILL_NMS_ORIGIN_CENTER = 1,
};

// Parameters of nms; pointmill_nms_params_init() sets the defaults.
typedef struct pointmill_nms_params {
  // sizeof(pointmill_nms_params)
  size_t struct_size;
  // Overlap of footprints, seen from above; overlap of volumes; or the squared distance of centres, seen
  // from above, which suppresses where it is at most the threshold.
  // An enum pointmill_nms_metric.
  uint32_t metric;
  // A greater overlap with a kept box suppresses, 0 to 1. With circles a squared distance of at most
  // this, in square metres, suppresses.
  float threshold;
  // Boxes with a lower score are no candidates; default all are.
  // Minus infinity is none.
  float score_threshold;
  // Most candidates of an item, the best ones; default all.
  // 0 is none.
  uint32_t pre_max;
  // Most boxes that an item keeps; default all.
  // 0 is none.
  uint32_t post_max;
  // Which point of a box its z is.
  // An enum pointmill_nms_origin.
  uint32_t origin;
} pointmill_nms_params;

static inline pointmill_status pointmill_nms_params_init(pointmill_nms_params *params) {
  return pointmill_worker_defaults("nms", params, sizeof *params);
}

// A worker on the stream, to be destroyed by pointmill_worker_destroy(). NULL are the default parameters.
static inline pointmill_status pointmill_nms_create(const pointmill_stream *stream,
    const pointmill_nms_params *params, pointmill_worker **worker) {
  return pointmill_worker_create("nms", stream, params, worker);
}

// boxes [N, 7] (x, y, z, dx, dy, dz, yaw): x, y, z, dx, dy, dz, yaw in metres and radians; at most
// 262,144 in an item of a batch, or pre_max.
// scores [N]: Rows that are no box, or whose scores are not finite, are never kept.
// classes [N]: Whole numbers of 0 or more; boxes of different classes never meet. NULL is none.
// row_splits [items + 1]: For a batch, where the boxes of each item start; those of different items
// never meet. NULL is none.
// Numbers of u64 on the host.
// Arrays of the result: "rows" [items, capacity] i32, "num_kept" [items] i32.
static inline pointmill_status pointmill_nms_run(pointmill_worker *worker, const pointmill_array *boxes, const pointmill_array *scores, const pointmill_array *classes, const pointmill_array *row_splits) {
  const pointmill_input inputs[] = {
    {sizeof(pointmill_input), "boxes", boxes},
    {sizeof(pointmill_input), "scores", scores},
    {sizeof(pointmill_input), "classes", classes},
    {sizeof(pointmill_input), "row_splits", row_splits},
  };
  return pointmill_worker_run(worker, inputs, sizeof inputs / sizeof *inputs);
}

enum pointmill_downsample_keep {
  POINTMILL_DOWNSAMPLE_KEEP_MEAN = 0,
  POINTMILL_DOWNSAMPLE_KEEP_FIRST = 1,
  POINTMILL_DOWNSAMPLE_KEEP_CENTRE = 2,
  POINTMILL_DOWNSAMPLE_KEEP_RANDOM = 3,
};

// Parameters of downsample; pointmill_downsample_params_init() sets the defaults.
typedef struct pointmill_downsample_params {
  // sizeof(pointmill_downsample_params)
  size_t struct_size;
  // Edge lengths of a voxel along x, y, z in metres.
  float voxel_size[3];
  // Point of a voxel: the mean of all columns of its points, its first point, the one nearest to its
  // centre, or one at random.
  // An enum pointmill_downsample_keep.
  uint32_t keep;
  // What decides with a random point.
  uint64_t seed;
} pointmill_downsample_params;

static inline pointmill_status pointmill_downsample_params_init(pointmill_downsample_params *params) {
  return pointmill_worker_defaults("downsample", params, sizeof *params);
}

// A worker on the stream, to be destroyed by pointmill_worker_destroy(). NULL are the default parameters.
static inline pointmill_status pointmill_downsample_create(const pointmill_stream *stream,
    const pointmill_downsample_params *params, pointmill_worker **worker) {
  return pointmill_worker_create("downsample", stream, params, worker);
}

// points [N, C]: x, y, z in metres, then whatever is carried along; 3 to 64 columns.
// Arrays of the result: "points" [points, columns] f32, "row_splits" [points + 1] u32, "indices" [listed] u32.
static inline pointmill_status pointmill_downsample_run(pointmill_worker *worker, const pointmill_array *points) {
  const pointmill_input inputs[] = {
    {sizeof(pointmill_input), "points", points},
  };
  return pointmill_worker_run(worker, inputs, sizeof inputs / sizeof *inputs);
}

#ifdef __cplusplus
}
#endif

#endif
