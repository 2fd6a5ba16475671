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

enum pointmill_furthest_point_sample_start {
  POINTMILL_FURTHEST_POINT_SAMPLE_START_FIRST = 0,
  POINTMILL_FURTHEST_POINT_SAMPLE_START_NEAREST_TO_MEAN = 1,
};

// Parameters of furthest_point_sample; pointmill_furthest_point_sample_params_init() sets the defaults.
typedef struct pointmill_furthest_point_sample_params {
  // sizeof(pointmill_furthest_point_sample_params)
  size_t struct_size;
  // Points that are taken of each item. Where an item has fewer, its first finite point is repeated.
  uint32_t number;
  // The first of them: the first finite point, or the one nearest to the mean.
  // An enum pointmill_furthest_point_sample_start.
  uint32_t start;
} pointmill_furthest_point_sample_params;

static inline pointmill_status pointmill_furthest_point_sample_params_init(pointmill_furthest_point_sample_params *params) {
  return pointmill_worker_defaults("furthest_point_sample", params, sizeof *params);
}

// A worker on the stream, to be destroyed by pointmill_worker_destroy(). NULL are the default parameters.
static inline pointmill_status pointmill_furthest_point_sample_create(const pointmill_stream *stream,
    const pointmill_furthest_point_sample_params *params, pointmill_worker **worker) {
  return pointmill_worker_create("furthest_point_sample", stream, params, worker);
}

// points [N, C] (x, y, z first): x, y, z first, in metres; columns behind them are not read. A point
// that is not finite is never found.
// features [N, F]: Their squared differences are added to the squared distance. NULL is none.
// row_splits [items + 1]: For a batch, where the points of each item start; those of different items
// never meet. NULL is none.
// Numbers of u64 on the host.
// sample_splits [items + 1]: Where the samples of each item start, in place of number for each. NULL is
// none.
// Numbers of u64 on the host.
// Arrays of the result: "rows" [samples] i32.
static inline pointmill_status pointmill_furthest_point_sample_run(pointmill_worker *worker, const pointmill_array *points, const pointmill_array *features, const pointmill_array *row_splits, const pointmill_array *sample_splits) {
  const pointmill_input inputs[] = {
    {sizeof(pointmill_input), "points", points},
    {sizeof(pointmill_input), "features", features},
    {sizeof(pointmill_input), "row_splits", row_splits},
    {sizeof(pointmill_input), "sample_splits", sample_splits},
  };
  return pointmill_worker_run(worker, inputs, sizeof inputs / sizeof *inputs);
}

enum pointmill_ball_query_pick {
  POINTMILL_BALL_QUERY_PICK_FIRST = 0,
  POINTMILL_BALL_QUERY_PICK_NEAREST = 1,
};

enum pointmill_ball_query_fill {
  POINTMILL_BALL_QUERY_FILL_FIRST = 0,
  POINTMILL_BALL_QUERY_FILL_NONE = 1,
};

// Parameters of ball_query; pointmill_ball_query_params_init() sets the defaults.
typedef struct pointmill_ball_query_params {
  // sizeof(pointmill_ball_query_params)
  size_t struct_size;
  // Points at this distance in metres and farther are outside.
  float radius;
  // Points that are nearer than this are outside, but not those at the centre itself.
  float min_radius;
  // Most points of a ball, 1 to 256.
  uint32_t most;
  // Which points are taken where a ball has more: the first in input order, or the nearest.
  // An enum pointmill_ball_query_pick.
  uint32_t pick;
  // What stands behind them where it has fewer: the first of them, or -1. A ball without points has -1.
  // An enum pointmill_ball_query_fill.
  uint32_t fill;
} pointmill_ball_query_params;

static inline pointmill_status pointmill_ball_query_params_init(pointmill_ball_query_params *params) {
  return pointmill_worker_defaults("ball_query", params, sizeof *params);
}

// A worker on the stream, to be destroyed by pointmill_worker_destroy(). NULL are the default parameters.
static inline pointmill_status pointmill_ball_query_create(const pointmill_stream *stream,
    const pointmill_ball_query_params *params, pointmill_worker **worker) {
  return pointmill_worker_create("ball_query", stream, params, worker);
}

// points [N, C] (x, y, z first): x, y, z first, in metres; columns behind them are not read. A point
// that is not finite is never found.
// centres [M, C] (x, y, z first): Centres of balls.
// row_splits [items + 1]: For a batch, where the points of each item start; those of different items
// never meet. NULL is none.
// Numbers of u64 on the host.
// centre_splits [items + 1]: Where the centres of each item start. NULL is none.
// Numbers of u64 on the host.
// Arrays of the result: "rows" [centres, most] i32, "num_points" [centres] i32.
static inline pointmill_status pointmill_ball_query_run(pointmill_worker *worker, const pointmill_array *points, const pointmill_array *centres, const pointmill_array *row_splits, const pointmill_array *centre_splits) {
  const pointmill_input inputs[] = {
    {sizeof(pointmill_input), "points", points},
    {sizeof(pointmill_input), "centres", centres},
    {sizeof(pointmill_input), "row_splits", row_splits},
    {sizeof(pointmill_input), "centre_splits", centre_splits},
  };
  return pointmill_worker_run(worker, inputs, sizeof inputs / sizeof *inputs);
}

// Parameters of knn; pointmill_knn_params_init() sets the defaults.
typedef struct pointmill_knn_params {
  // sizeof(pointmill_knn_params)
  size_t struct_size;
  // Neighbours of each query, 1 to 256.
  uint32_t k;
} pointmill_knn_params;

static inline pointmill_status pointmill_knn_params_init(pointmill_knn_params *params) {
  return pointmill_worker_defaults("knn", params, sizeof *params);
}

// A worker on the stream, to be destroyed by pointmill_worker_destroy(). NULL are the default parameters.
static inline pointmill_status pointmill_knn_create(const pointmill_stream *stream,
    const pointmill_knn_params *params, pointmill_worker **worker) {
  return pointmill_worker_create("knn", stream, params, worker);
}

// points [N, C] (x, y, z first): x, y, z first, in metres; columns behind them are not read. A point
// that is not finite is never found.
// queries [M, C] (x, y, z first): What is searched for.
// row_splits [items + 1]: For a batch, where the points of each item start; those of different items
// never meet. NULL is none.
// Numbers of u64 on the host.
// query_splits [items + 1]: Where the queries of each item start. NULL is none.
// Numbers of u64 on the host.
// Arrays of the result: "rows" [queries, k] i32, "squared_distances" [queries, k] f32.
static inline pointmill_status pointmill_knn_run(pointmill_worker *worker, const pointmill_array *points, const pointmill_array *queries, const pointmill_array *row_splits, const pointmill_array *query_splits) {
  const pointmill_input inputs[] = {
    {sizeof(pointmill_input), "points", points},
    {sizeof(pointmill_input), "queries", queries},
    {sizeof(pointmill_input), "row_splits", row_splits},
    {sizeof(pointmill_input), "query_splits", query_splits},
  };
  return pointmill_worker_run(worker, inputs, sizeof inputs / sizeof *inputs);
}

#ifdef __cplusplus
}
#endif

#endif
