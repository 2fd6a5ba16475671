/* pointmill: LiDAR operators on CPU and GPU, with the same bits on both.
 *
 * Every function that can fail returns a status; pointmill_last_message() tells the rest. A handle
 * belongs to one thread at a time; what takes a pointer to a const handle may be called by several.
 * Every struct begins with its size: pointmill_..._init() sets it, or sizeof does. Memory that is
 * handed in stays the caller's. */

#ifndef POINTMILL_H
#define POINTMILL_H

/* Made of crates/pointmill-c/src by cbindgen: change it there. */

#include <stddef.h>
#include <stdint.h>

// How a call went.
enum pointmill_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Success.
  POINTMILL_OK = 0,
  // Invalid argument. Nothing was done.
  POINTMILL_ARGUMENT = 1,
  // The host or the device is out of memory.
  POINTMILL_OUT_OF_MEMORY = 2,
  // There is no such device.
  POINTMILL_NO_DEVICE = 3,
  // Another error of the driver or of the system.
  POINTMILL_DEVICE = 4,
  // The device no longer answers. The process must start its work again.
  POINTMILL_DEVICE_LOST = 5,
  // A defect of the library; please report it. The handle may only be destroyed.
  POINTMILL_INTERNAL = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_status pointmill_status;
#else
typedef uint32_t pointmill_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The type of values. The first eight are those of `sensor_msgs/PointField`.
enum pointmill_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_I8 = 1,
  POINTMILL_U8 = 2,
  POINTMILL_I16 = 3,
  POINTMILL_U16 = 4,
  POINTMILL_I32 = 5,
  POINTMILL_U32 = 6,
  POINTMILL_F32 = 7,
  POINTMILL_F64 = 8,
  POINTMILL_F16 = 9,
  POINTMILL_BF16 = 10,
  POINTMILL_I64 = 11,
  POINTMILL_U64 = 12,
  POINTMILL_BOOL = 13,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_type pointmill_type;
#else
typedef uint32_t pointmill_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Where memory is.
enum pointmill_place
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Memory of the host.
  POINTMILL_HOST = 0,
  // Memory of the GPU of the stream that the call works on.
  POINTMILL_DEVICE_MEMORY = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_place pointmill_place;
#else
typedef uint32_t pointmill_place;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The order of voxels.
enum pointmill_row_order
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // By their first point.
  POINTMILL_FIRST_SEEN = 0,
  // By the id of the cell.
  POINTMILL_SORTED = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_row_order pointmill_row_order;
#else
typedef uint32_t pointmill_row_order;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The type of means.
enum pointmill_mean_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // f32
  POINTMILL_MEAN_F32 = 0,
  // f16
  POINTMILL_MEAN_F16 = 1,
  // No means.
  POINTMILL_MEAN_NONE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_mean_type pointmill_mean_type;
#else
typedef uint32_t pointmill_mean_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which points of a full voxel stay, in input order.
enum pointmill_voxel_pick
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The first.
  POINTMILL_VOXEL_PICK_FIRST = 0,
  // A choice by chance, decided by the seed `pick_value`, the sample and the cell.
  POINTMILL_VOXEL_PICK_RANDOM = 1,
  // One of each value of the column `pick_value` in turn.
  POINTMILL_VOXEL_PICK_ROUND_ROBIN = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_voxel_pick pointmill_voxel_pick;
#else
typedef uint32_t pointmill_voxel_pick;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which point of a cell is taken.
enum pointmill_pick
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The first.
  POINTMILL_PICK_FIRST = 0,
  // The nearest to the centre of the cell.
  POINTMILL_PICK_NEAREST = 1,
  // The one with the number `pick_value`, modulo how many there are.
  POINTMILL_PICK_NTH = 2,
  // One by chance, decided by the seed `pick_value` and the cell.
  POINTMILL_PICK_RANDOM = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_pick pointmill_pick;
#else
typedef uint32_t pointmill_pick;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Curves that fill a grid.
enum pointmill_order
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_ORDER_Z = 0,
  POINTMILL_ORDER_Z_TRANS = 1,
  POINTMILL_ORDER_HILBERT = 2,
  POINTMILL_ORDER_HILBERT_TRANS = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_order pointmill_order;
#else
typedef uint32_t pointmill_order;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a layer does.
enum pointmill_conv_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_SUBMANIFOLD = 0,
  POINTMILL_STRIDED = 1,
  POINTMILL_INVERSE = 2,
  POINTMILL_TRANSPOSED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_conv_kind pointmill_conv_kind;
#else
typedef uint32_t pointmill_conv_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What an overlap is of.
enum pointmill_iou_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_IOU_BEV = 0,
  POINTMILL_IOU_VOLUME = 1,
  POINTMILL_IOU_GIOU = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_iou_kind pointmill_iou_kind;
#else
typedef uint32_t pointmill_iou_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which point of a box its z is.
enum pointmill_box_origin
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_BOTTOM_CENTER = 0,
  POINTMILL_CENTER = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_box_origin pointmill_box_origin;
#else
typedef uint32_t pointmill_box_origin;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How features are reduced.
enum pointmill_pool_mode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_POOL_MAX = 0,
  POINTMILL_POOL_MEAN = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_pool_mode pointmill_pool_mode;
#else
typedef uint32_t pointmill_pool_mode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The shape of a result.
enum pointmill_roi_layout
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // All voxels; a call waits for nothing.
  POINTMILL_ROI_DENSE = 0,
  // All voxels, with lists without padding.
  POINTMILL_ROI_CSR = 1,
  // The voxels that are not empty.
  POINTMILL_ROI_SPARSE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_roi_layout pointmill_roi_layout;
#else
typedef uint32_t pointmill_roi_layout;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The covariance of a cell.
enum pointmill_covariance
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_UNBIASED = 0,
  POINTMILL_AUTOWARE = 1,
  POINTMILL_POPULATION = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_covariance pointmill_covariance;
#else
typedef uint32_t pointmill_covariance;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The error metric of an alignment.
enum pointmill_metric
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_POINT_TO_POINT = 0,
  POINTMILL_POINT_TO_PLANE = 1,
  POINTMILL_GICP = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_metric pointmill_metric;
#else
typedef uint32_t pointmill_metric;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Weights of pairs by their residuals.
enum pointmill_robust
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_ROBUST_NONE = 0,
  POINTMILL_HUBER = 1,
  POINTMILL_CAUCHY = 2,
  POINTMILL_GEMAN_MCCLURE = 3,
  POINTMILL_TUKEY = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_robust pointmill_robust;
#else
typedef uint32_t pointmill_robust;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Why an alignment ended. The pose is an answer after the first two.
enum pointmill_alignment_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // No pair changed.
  POINTMILL_FIXED = 0,
  // A step was shorter than asked for.
  POINTMILL_STEP_BELOW = 1,
  // The same pairs came back again and again.
  POINTMILL_CYCLE = 2,
  // It made as many steps as allowed.
  POINTMILL_MAX_ITERATIONS = 3,
  // No point has a pair.
  POINTMILL_NO_PAIRS = 4,
  // The clouds do not determine the pose.
  POINTMILL_DEGENERATE = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_alignment_status pointmill_alignment_status;
#else
typedef uint32_t pointmill_alignment_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How the pose of a registration without a guess is refined.
enum pointmill_refine
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_REFINE_GICP = 0,
  POINTMILL_REFINE_PLANE = 1,
  POINTMILL_REFINE_NONE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_refine pointmill_refine;
#else
typedef uint32_t pointmill_refine;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Whether a pose is an answer.
enum pointmill_verdict
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The clouds fit at this pose, and at no other.
  POINTMILL_FOUND = 0,
  // The clouds fit nearly as well at another pose, or can slide along each other.
  POINTMILL_AMBIGUOUS = 1,
  // Too few points have a match.
  POINTMILL_TOO_FEW_MATCHES = 2,
  // The clouds have too little in common.
  POINTMILL_LOW_OVERLAP = 3,
  // With level: z is not up in both frames.
  POINTMILL_NOT_LEVEL = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_verdict pointmill_verdict;
#else
typedef uint32_t pointmill_verdict;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What became of a sweep.
enum pointmill_sweep_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_SWEEP_STARTED = 0,
  POINTMILL_SWEEP_TRACKED = 1,
  POINTMILL_SWEEP_DEGENERATE = 2,
  POINTMILL_SWEEP_NOT_CONVERGED = 3,
  POINTMILL_SWEEP_REPEATED = 4,
  POINTMILL_SWEEP_TOO_FEW_POINTS = 5,
  POINTMILL_SWEEP_LOST = 6,
  POINTMILL_SWEEP_RECOVERED = 7,
  POINTMILL_SWEEP_AMBIGUOUS = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_sweep_status pointmill_sweep_status;
#else
typedef uint32_t pointmill_sweep_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What became of a scan. The pose is a fix after the first two.
enum pointmill_fix_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_FIX_TRACKED = 0,
  POINTMILL_FIX_FOUND = 1,
  POINTMILL_FIX_REJECTED = 2,
  POINTMILL_FIX_LOST = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_fix_status pointmill_fix_status;
#else
typedef uint32_t pointmill_fix_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Why a scan has no fix.
enum pointmill_rejection
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  POINTMILL_REJECTED_TOO_FEW_POINTS = 0,
  POINTMILL_REJECTED_OUTSIDE_MAP = 1,
  POINTMILL_REJECTED_NOT_CONVERGED = 2,
  POINTMILL_REJECTED_LOW_LIKELIHOOD = 3,
  POINTMILL_REJECTED_FAR_FROM_PREDICTION = 4,
  POINTMILL_REJECTED_UNEXPLAINED = 5,
  POINTMILL_REJECTED_CONTRADICTED = 6,
  POINTMILL_REJECTED_AMBIGUOUS = 7,
  POINTMILL_NOT_REJECTED = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_rejection pointmill_rejection;
#else
typedef uint32_t pointmill_rejection;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Layouts of points that Autoware's nodes take.
enum pointmill_layout
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // x, y, z, intensity of f32: 16 bytes.
  POINTMILL_XYZI = 0,
  // x, y, z of f32, intensity and return type of u8, channel of u16: 16 bytes. Its fields are x, y, z,
  // intensity.
  POINTMILL_XYZIRC = 1,
  // The same, then azimuth, elevation and distance of f32, and a time stamp of u32: 32 bytes. Its
  // fields are x, y, z, intensity.
  POINTMILL_XYZIRCAEDT = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_layout pointmill_layout;
#else
typedef uint32_t pointmill_layout;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What is asked of points and boxes.
enum pointmill_inside
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The lowest box of each point: "part" [N] of i32, or -1.
  POINTMILL_PART = 0,
  // The number of points of each box: "count" [B] of i32.
  POINTMILL_COUNT = 1,
  // All boxes of each point: "row_splits" [N + 1] of i64 and "indices" of i32. It waits.
  POINTMILL_ALL = 2,
  // All points of each box: "row_splits" [B + 1] of i64 and "indices" of i32. It waits.
  POINTMILL_CROP = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pointmill_inside pointmill_inside;
#else
typedef uint32_t pointmill_inside;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Measures overlaps, call after call.
typedef struct pointmill_box_iou pointmill_box_iou;

// Moves points of several sweeps into one frame, call after call.
typedef struct pointmill_densifier pointmill_densifier;

// Recorded work that can be queued again and again.
typedef struct pointmill_graph pointmill_graph;

// Takes one point of each cell, call after call.
typedef struct pointmill_grid_sampler pointmill_grid_sampler;

// A target that many sources are aligned to.
typedef struct pointmill_icp_target pointmill_icp_target;

// Finds pairs, call after call.
typedef struct pointmill_index_pairs pointmill_index_pairs;

// Where a sensor is in a map.
typedef struct pointmill_localizer pointmill_localizer;

// Cells on a device, to match scans against.
typedef struct pointmill_ndt_grid pointmill_ndt_grid;

// Sums over the points of each cell, on the host. They can be added up and taken away again.
typedef struct pointmill_ndt_moments pointmill_ndt_moments;

// A trajectory from sweeps.
typedef struct pointmill_odometry pointmill_odometry;

// Makes features of pillars, call after call.
typedef struct pointmill_pillar_encoder pointmill_pillar_encoder;

// Answers which points are in which box, call after call.
typedef struct pointmill_points_in_boxes pointmill_points_in_boxes;

// Makes larger and larger cells, call after call.
typedef struct pointmill_pooler pointmill_pooler;

// A target that sources are registered to without a guess.
typedef struct pointmill_register_target pointmill_register_target;

// Pools features, call after call.
typedef struct pointmill_roi_pooler pointmill_roi_pooler;

// A cloud of a file or of a message, on the host.
typedef struct pointmill_scan pointmill_scan;

// Orders cells, call after call.
typedef struct pointmill_serializer pointmill_serializer;

// A queue of work on a device.
typedef struct pointmill_stream pointmill_stream;

// Voxelizes sweep after sweep, and keeps its memory.
typedef struct pointmill_voxelizer pointmill_voxelizer;

// An operator that works call after call.
typedef struct pointmill_worker pointmill_worker;

// Parameters of overlaps.
typedef struct pointmill_iou_params {
  // sizeof(pointmill_iou_params)
  size_t struct_size;
  // A pointmill_iou_kind; default from above.
  uint32_t kind;
  // Whether each box is measured with that of the same row alone; default 0, with all.
  uint32_t aligned;
  // A pointmill_box_origin; default the bottom.
  uint32_t origin;
} pointmill_iou_params;

// Rows of values. In an argument they are used where they are; those of the host are copied to a
// GPU that works on them.
//
// For a result `data` is memory for `rows` times `columns` values of the type; what the call has
// written stands in `rows` and `columns` afterwards. Where `data` is null, the array becomes a view
// of the result's own memory, valid until the handle is used again. A result is that of the last call;
// before the first call, and after a call that failed, there is none.
typedef struct pointmill_array {
  // sizeof(pointmill_array)
  size_t struct_size;
  // The first value.
  void *data;
  // The number of rows.
  uint64_t rows;
  // The number of values in a row.
  uint64_t columns;
  // Bytes from one row to the next; 0 for rows without gaps.
  uint64_t stride;
  // A pointmill_type.
  uint32_t type;
  // A pointmill_place.
  uint32_t place;
} pointmill_array;

// One number of each point.
typedef struct pointmill_field {
  // Bytes from the beginning of the point.
  uint32_t offset;
  // A pointmill_type; those of sensor_msgs/PointField have the same numbers.
  uint32_t type;
} pointmill_field;

// A view of a `sensor_msgs/PointCloud2`, or of what has points in the same way.
typedef struct pointmill_cloud {
  // sizeof(pointmill_cloud)
  size_t struct_size;
  // The first point.
  const void *data;
  // The number of points: width times height.
  uint64_t points;
  // Bytes from one point to the next.
  uint64_t point_step;
  // A pointmill_place.
  uint32_t place;
  // The number of fields, 3 to 16.
  uint32_t num_fields;
  // The fields in the order that an operator is to see them, x, y, z first.
  struct pointmill_field fields[16];
} pointmill_cloud;

// Parameters of icp.
typedef struct pointmill_icp_params {
  // sizeof(pointmill_icp_params)
  size_t struct_size;
  // A pointmill_metric; default point-to-plane.
  uint32_t metric;
  // A pointmill_robust; default none.
  uint32_t robust;
  // The width of the weights in metres.
  double robust_width;
  // Greatest distance of a pair in metres; default infinity.
  double max_distance;
  // Most steps; default 100.
  uint64_t max_iterations;
  // A shorter step ends the alignment; default 1e-6.
  double step_tolerance;
  // Points that a normal is made from, 3 to 32; default 20.
  uint64_t neighbours;
  // Whether points at exactly (0, 0, 0) are left out; default 0.
  uint32_t drop_zeros;
} pointmill_icp_params;

// A rigid transform: the rows of a 4 x 4 matrix, one after the other.
typedef struct pointmill_pose {
  // The rows.
  double m[16];
} pointmill_pose;

// The pose that an alignment found, and how certain it is.
typedef struct pointmill_registration {
  // sizeof(pointmill_registration)
  size_t struct_size;
  // Always finite and rigid.
  struct pointmill_pose target_from_source;
  // A pointmill_alignment_status.
  uint32_t status;
  // Whether the pose is an answer.
  uint32_t converged;
  // Steps.
  uint64_t iterations;
  // Second derivatives of the cost, 6 x 6.
  double hessian[36];
  // The uncertainty of the six numbers of the pose, 6 x 6; zeros without.
  double covariance[36];
  // Whether there is a covariance.
  uint32_t has_covariance;
  // Directions that the pairs determine, of 6; of icp.
  uint32_t rank;
  // Pairs of icp; of ndt the points with a cell within reach.
  uint64_t pairs;
  // Of icp: pairs by source points.
  double fitness;
  // Of icp: root mean square distance of the pairs in metres.
  double inlier_rmse;
  // Of ndt: the score by the number of points.
  double transform_probability;
  // Of ndt: nearest voxel transformation likelihood.
  double nvtl;
  // Of ndt: the sum of all terms.
  double score;
  // Of ndt: the largest number of steps in succession that turned back.
  uint64_t oscillations;
} pointmill_registration;

// Parameters of localization.
typedef struct pointmill_localizer_params {
  // sizeof(pointmill_localizer_params)
  size_t struct_size;
  // A scan is thinned out to one point of each cube of this edge; default 1 m.
  double voxel_size;
  // Most points that are aligned; default 5000.
  uint64_t max_points;
  // Nearer points are left out; default 1 m.
  double min_range;
  // Farther points are left out; default 100 m.
  double max_range;
  // Least nearest voxel transformation likelihood of a fix; default 2.3.
  double min_nvtl;
  // Metres that a fix is from its prediction at most; default 3.
  double max_distance;
  // So many rejections in succession end the tracking; default 5.
  uint64_t max_rejections;
  // Whether searches look in `region` alone; default 0.
  uint32_t has_region;
  // Least x and y, then largest, in metres of the map.
  double region[4];
  // Half the edge of the square around the last pose that is searched; default 20 m.
  double search_radius;
  // The share of the scan above the ground, where the map covers the place, that the map explains
  // at least; default 0.6.
  double min_explained;
  // The share of the map that the scan confirms at least, of what it confirms or sees through;
  // default 0.7.
  double min_confirmed;
  // The part by which a fix that no fix led to is better than the best other place at least; half
  // of the share of the scan that the map does not cover is added; default 0.1.
  double min_margin;
} pointmill_localizer_params;

// What became of a scan, and where the sensor was.
typedef struct pointmill_fix {
  // sizeof(pointmill_fix)
  size_t struct_size;
  // The number of the scan, from 0.
  uint64_t index;
  // A pointmill_fix_status.
  uint32_t status;
  // A pointmill_rejection.
  uint32_t rejection;
  // The pose of the sensor in the map; always finite and rigid. A fix if the status says so.
  struct pointmill_pose map_from_sensor;
  // The uncertainty of x, y, z, roll, pitch, yaw, 6 x 6; zeros without.
  double covariance[36];
  // Whether there is a covariance.
  uint32_t has_covariance;
  // Whether the pose is a fix.
  uint32_t is_fix;
  // Nearest voxel transformation likelihood of the alignment; 0 without.
  double nvtl;
  // The same by all points; 0 without.
  double transform_probability;
  // How clearly the place won; -1 where no other was looked at.
  double margin;
  // Points that are finite and in range.
  uint64_t usable;
  // Points that were aligned.
  uint64_t aligned;
  // Scans in succession that were rejected.
  uint64_t rejections;
} pointmill_fix;

// How cells become normal distributions.
typedef struct pointmill_ndt_params {
  // sizeof(pointmill_ndt_params)
  size_t struct_size;
  // A pointmill_covariance; default Autoware's.
  uint32_t covariance;
  // Cells of fewer points are left out; default 6.
  uint32_t min_points;
  // Eigenvalues below this part of the largest are raised to it; default 0.01.
  double eigen_ratio;
} pointmill_ndt_params;

// Parameters of an alignment.
typedef struct pointmill_ndt_align_params {
  // sizeof(pointmill_ndt_align_params)
  size_t struct_size;
  // Most steps; default 30.
  uint64_t max_iterations;
  // Longest step; default 0.1.
  double step_size;
  // A shorter step ends the alignment; default 0.01.
  double epsilon;
  // Whether the pose is held near `base` along the way that it faces; default 0.
  uint32_t has_base;
  // Where the vehicle is by another source.
  struct pointmill_pose base;
  // The part of the score that a metre from the base costs; Autoware's is 0.01.
  double scale;
} pointmill_ndt_align_params;

// Parameters of odometry.
typedef struct pointmill_odometry_params {
  // sizeof(pointmill_odometry_params)
  size_t struct_size;
  // Edge of a voxel of the map in metres; default 0: the largest up to 1 m that leaves the
  // first sweep enough voxels.
  double voxel_size;
  // Nearer points are left out; default 1 m.
  double min_range;
  // Farther points are left out; default 100 m.
  double max_range;
  // Points that a voxel of the map keeps, 1 to 64; default 20.
  uint64_t max_points_per_voxel;
  // A pointmill_metric, but for GICP; default point-to-plane.
  uint32_t metric;
  // Whether motion within a sweep is taken out where points have times; default 1.
  uint32_t deskew;
  // Width of the weights in metres; default 0.1.
  double robust_width;
  // Most steps of an alignment; default 500.
  uint64_t max_iterations;
  // Whether the array "map" has the points that left the map out of range too; default 0.
  uint32_t keep_map;
} pointmill_odometry_params;

// What became of a sweep, and where the sensor was.
typedef struct pointmill_step {
  // sizeof(pointmill_step)
  size_t struct_size;
  // The number of the sweep, from 0.
  uint64_t index;
  // A pointmill_sweep_status.
  uint32_t status;
  // Whether there is a covariance.
  uint32_t has_covariance;
  // The pose of the sensor in the frame of the first pose; always finite and rigid.
  struct pointmill_pose world_from_sensor;
  // The uncertainty of a translation and a rotation vector about `pivot`, 6 x 6; zeros without.
  double covariance[36];
  // The mean of the aligned points in the world.
  double pivot[3];
  // Points of the sweep.
  uint64_t points;
  // Points that are finite and in range.
  uint64_t usable;
  // Points that were aligned.
  uint64_t aligned;
  // Points that have a neighbour in the map.
  uint64_t pairs;
  // Root mean square distance of the pairs in metres.
  double rmse;
  // Steps.
  uint64_t iterations;
  // Directions that the surfaces determine, of 6.
  uint64_t rank;
  // Points of the map.
  uint64_t map_points;
  // The share of the aligned points that the map explains; 0 where there was no alignment.
  double explained;
  // Edge in metres of the voxels of the map.
  double voxel_size;
  // The middle of the times of the points, in seconds of their clock, which the pose belongs to; NaN
  // without times.
  double seconds;
} pointmill_step;

// Parameters of features of pillars.
typedef struct pointmill_pillar_params {
  // sizeof(pointmill_pillar_params)
  size_t struct_size;
  // Features of a point: 5 more than it has columns, or 6 more, with z less the centre; default 9.
  uint32_t features;
  // Edges of a pillar along x, y, z in metres; default 0.16, 0.16, 4.
  float voxel_size[3];
  // The least corner of the range; default 0, -39.68, -3.
  float origin[3];
} pointmill_pillar_params;

// Parameters of a registration without a guess.
typedef struct pointmill_register_params {
  // sizeof(pointmill_register_params)
  size_t struct_size;
  // Edge in metres of the cubes whose points are joined; default 0.3.
  double voxel_size;
  // A pointmill_refine; default GICP.
  uint32_t refine;
  // Not 0 where z is up in both frames: a search over x, y, z and yaw; default 0.
  uint32_t level;
} pointmill_register_params;

// What a registration without a guess found.
typedef struct pointmill_registered {
  // sizeof(pointmill_registered)
  size_t struct_size;
  // An answer if the verdict is POINTMILL_FOUND.
  struct pointmill_pose target_from_source;
  // A pointmill_verdict.
  uint32_t verdict;
  // Whether a cap left matches out of the search.
  uint32_t capped;
  // Matches of features; with level, points of the source that were looked at.
  uint64_t matches;
  // Matches within two voxels at the pose; with level, points that meet the target.
  uint64_t inliers;
  // Poses that were looked at.
  uint64_t candidates;
  // Points of the source that were looked at, those near the target, and those that meet it.
  uint64_t source_overlap[3];
  // The same of the target.
  uint64_t target_overlap[3];
  // 1 - the score of the best other pose / the score of this one.
  double margin;
  // The uncertainty of the pose, 6 x 6; zeros without.
  double covariance[36];
  // Whether there is a covariance.
  uint32_t has_covariance;
  // Directions that the clouds determine, of 6; 0 without a refinement.
  uint32_t rank;
} pointmill_registered;

// Parameters of pooling.
typedef struct pointmill_roi_pool_params {
  // sizeof(pointmill_roi_pool_params)
  size_t struct_size;
  // Voxels of a box along length, width and height; default 12.
  uint32_t out_size[3];
  // Most points of a voxel; default 127.
  uint32_t max_points_per_voxel;
  // A pointmill_pool_mode; default the maximum.
  uint32_t mode;
  // A pointmill_box_origin; default the bottom.
  uint32_t origin;
  // Metres by which a box is longer and wider on each side; default 0.
  float margin;
  // A pointmill_roi_layout; default dense.
  uint32_t layout;
  // Whether the kept points of each voxel are an output; default 1.
  uint32_t lists;
} pointmill_roi_pool_params;

// A field of a `sensor_msgs/PointCloud2`, as the message has it.
typedef struct pointmill_message_field {
  // Its name.
  const char *name;
  // Bytes from the beginning of the point.
  uint32_t offset;
  // The type of its numbers, as the message has it.
  uint32_t datatype;
  // How many numbers it has.
  uint32_t count;
} pointmill_message_field;

// A `sensor_msgs/PointCloud2` in memory of the host, as the message has it.
typedef struct pointmill_message {
  // sizeof(pointmill_message)
  size_t struct_size;
  // The fields.
  const struct pointmill_message_field *fields;
  // How many.
  uint64_t num_fields;
  // The bytes of the points.
  const void *data;
  // How many.
  uint64_t num_bytes;
  // Rows of an organized cloud, else 1.
  uint32_t height;
  // Points of a row.
  uint32_t width;
  // Bytes of a point.
  uint32_t point_step;
  // Bytes of a row.
  uint32_t row_step;
  // Whether numbers have their highest byte first.
  uint32_t is_bigendian;
} pointmill_message;

// What a scan has.
typedef struct pointmill_scan_info {
  // sizeof(pointmill_scan_info)
  size_t struct_size;
  // The number of points.
  uint64_t points;
  // The number of columns.
  uint64_t columns;
  // Whether points have times.
  uint32_t has_times;
  // Whether times count from 1970, and not from the stamp of the message.
  uint32_t times_of_epoch;
  // The earliest time in seconds; 0 without times.
  double start;
  // Seconds from the earliest to the latest time.
  double span;
} pointmill_scan_info;

// Parameters of serialization.
typedef struct pointmill_serialize_params {
  // sizeof(pointmill_serialize_params)
  size_t struct_size;
  // Bits of a coordinate, 1 to 16; default 0, as many as the largest has, for which a call on a GPU
  // waits.
  uint32_t depth;
  // The number of curves, 1 to 4; default 4.
  uint32_t num_orders;
  // The curves, each a pointmill_order.
  uint32_t orders[4];
} pointmill_serialize_params;

// Parameters of a sparse convolution; triples along z, y, x.
typedef struct pointmill_conv_params {
  // sizeof(pointmill_conv_params)
  size_t struct_size;
  // Default 3, 3, 3.
  uint32_t kernel[3];
  // Default 1.
  uint32_t stride[3];
  // Default 0.
  uint32_t padding[3];
  // Default 1.
  uint32_t dilation[3];
  // A pointmill_conv_kind; default submanifold.
  uint32_t kind;
  // Most outputs of a strided or transposed layer; default 0, as many as there are, for which a call
  // on a GPU waits.
  uint32_t capacity;
  // Whether masks are an output; default 0.
  uint32_t masks;
  // Whether lists are an output, the pairs of each offset; default 0.
  uint32_t lists;
} pointmill_conv_params;

// Parameters of grid sampling.
typedef struct pointmill_grid_sample_params {
  // sizeof(pointmill_grid_sample_params)
  size_t struct_size;
  // Edges of a cell along x, y, z in metres; default 0.05.
  float grid_size[3];
  // Whether the grid begins at the lower corner of `range`, whose cells are all there are; else at
  // the least coordinates of the points. Default 0.
  uint32_t has_range;
  // Least x, y, z, then largest.
  float range[6];
  // A pointmill_pick; default the first.
  uint32_t pick;
  // The number or the seed of the pick.
  uint64_t pick_value;
  // Cells that there is room for; default 0, as many as points.
  uint64_t capacity;
} pointmill_grid_sample_params;

// Parameters of voxelization.
typedef struct pointmill_voxelize_params {
  // sizeof(pointmill_voxelize_params)
  size_t struct_size;
  // Edges of a voxel along x, y, z in metres; default 0.2.
  float voxel_size[3];
  // Least x, y, z, then largest; default -54, -54, -5, 54, 54, 3.
  float range[6];
  // Most voxels of each sample; default 160000.
  uint32_t max_voxels;
  // Most points of a voxel; 0 keeps all of them; default 10.
  uint32_t max_points_per_voxel;
  // A pointmill_row_order; default by the first point.
  uint32_t order;
  // Whether points must also lie in the range; default 0.
  uint32_t strict_range;
  // A pointmill_mean_type; default f32.
  uint32_t mean;
  // Whether the kept points are an output; default 1. Not where all points are kept.
  uint32_t voxels;
  // Whether the voxel of each point is an output; default 1.
  uint32_t point_to_voxel;
  // Whether lists of points are an output; default 0.
  uint32_t lists;
  // Whether outputs have max_voxels rows, so that nobody waits for the number; default 1.
  uint32_t padded;
  // A pointmill_voxel_pick; default the first.
  uint32_t pick;
  // The seed or the column of the pick.
  uint64_t pick_value;
} pointmill_voxelize_params;

// An input of a worker: its name, and the array.
typedef struct pointmill_input {
  // sizeof(pointmill_input)
  size_t struct_size;
  // The name.
  const char *name;
  // The array; null where the input is left out.
  const struct pointmill_array *array;
} pointmill_input;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The defaults.
pointmill_status pointmill_iou_params_init(struct pointmill_iou_params *params);

// A worker on the stream. Pass NULL to use the default parameters.
pointmill_status pointmill_box_iou_create(const struct pointmill_stream *stream,
                                          const struct pointmill_iou_params *params,
                                          struct pointmill_box_iou **iou);

// Measures boxes [N, 7] and [M, 7] of f32 or f64: x, y, z, dx, dy, dz, yaw.
pointmill_status pointmill_box_iou_run(struct pointmill_box_iou *iou,
                                       const struct pointmill_array *a,
                                       const struct pointmill_array *b);

// The array of the last call: "iou" [N, M], of aligned boxes [N], of f32.
pointmill_status pointmill_box_iou_array(const struct pointmill_box_iou *iou,
                                         const char *name,
                                         struct pointmill_array *array);

// Destroys the worker and frees its memory.
void pointmill_box_iou_destroy(struct pointmill_box_iou *iou);

// A view of points in a pointmill_layout.
pointmill_status pointmill_cloud_of_layout(struct pointmill_cloud *cloud,
                                           uint32_t layout,
                                           const void *data,
                                           uint64_t points,
                                           uint32_t place);

// The points for an operator that looks at x, y and z alone, without a copy, on the host or a device:
// rows as wide as a point. x, y, z must be the first three numbers, of f32 or f64.
pointmill_status pointmill_cloud_points(const struct pointmill_cloud *cloud, struct pointmill_array *points);

// The fields as rows of f32. Where they are that already, the array becomes a view of them. Else they
// are copied from the host to `memory`, which has room for `capacity` values: points times fields.
// Whole numbers beyond 2^24 and numbers of f64 are rounded to the nearest.
pointmill_status pointmill_cloud_rows(const struct pointmill_cloud *cloud,
                                      float *memory,
                                      uint64_t capacity,
                                      struct pointmill_array *array);

// A tensor of another library as an array, without a copy. `tensor` is a `DLManagedTensorVersioned` of
// dlpack.h, version 1; it stays the caller's, who calls its deleter when the array is no longer used.
// The first axis is rows, and the values of the others stand side by side. Memory may be of the host, of
// CUDA, or of the host and pinned by CUDA; memory of CUDA is that of the GPU of the stream of the call.
pointmill_status pointmill_array_of_dlpack(const void *tensor, struct pointmill_array *array);

// What the last call of this thread that failed says: "argument: expected .., got ..". The text is
// there until another call of the thread fails.
const char *pointmill_last_message(void);

// The invalid argument, or "".
const char *pointmill_last_argument(void);

// What the argument should be, or "".
const char *pointmill_last_expected(void);

// What it is, or "".
const char *pointmill_last_got(void);

// The version of the library, such as "0.1.0".
const char *pointmill_version(void);

// The defaults.
pointmill_status pointmill_icp_params_init(struct pointmill_icp_params *params);

// Makes a cloud [N, 3 or more] of f32 or f64 ready on the stream. Pass NULL to use the default parameters.
pointmill_status pointmill_icp_target_create(const struct pointmill_stream *stream,
                                             const struct pointmill_array *cloud,
                                             const struct pointmill_icp_params *params,
                                             struct pointmill_icp_target **target);

// The pose that brings a source onto the target, from a guess; null is the identity. It waits for the
// result. Several threads may call it at a time.
pointmill_status pointmill_icp_target_align(const struct pointmill_icp_target *target,
                                            const struct pointmill_array *source,
                                            const struct pointmill_pose *guess,
                                            struct pointmill_registration *registration);

// Destroys the target and frees its memory.
void pointmill_icp_target_destroy(struct pointmill_icp_target *target);

// The defaults.
pointmill_status pointmill_localizer_params_init(struct pointmill_localizer_params *params);

// A localizer in a grid, which it keeps. Pass NULL to use the default parameters.
pointmill_status pointmill_localizer_create(const struct pointmill_stream *stream,
                                            const struct pointmill_ndt_grid *grid,
                                            const struct pointmill_localizer_params *params,
                                            struct pointmill_localizer **localizer);

// Says where the sensor is, in place of a search.
pointmill_status pointmill_localizer_start(struct pointmill_localizer *localizer,
                                           const struct pointmill_pose *map_from_sensor);

// Takes the next scan [N, 3 or more] of f32 or f64, and its time in seconds; NaN where it
// is not known. It waits for the result.
pointmill_status pointmill_localizer_push(struct pointmill_localizer *localizer,
                                          const struct pointmill_array *points,
                                          double seconds,
                                          struct pointmill_fix *fix);

// Destroys the localizer and frees its memory.
void pointmill_localizer_destroy(struct pointmill_localizer *localizer);

// The defaults.
pointmill_status pointmill_ndt_params_init(struct pointmill_ndt_params *params);

// The defaults.
pointmill_status pointmill_ndt_align_params_init(struct pointmill_ndt_align_params *params);

// No points yet, in cells of `resolution` metres about an origin; null is zero.
pointmill_status pointmill_ndt_moments_create(double resolution,
                                              const double (*origin)[3],
                                              struct pointmill_ndt_moments **moments);

// Adds points [N, 3 or more] of f32 or f64 of the host, in the frame of the map.
pointmill_status pointmill_ndt_moments_add(struct pointmill_ndt_moments *moments,
                                           const struct pointmill_array *points);

// Adds a tile.
pointmill_status pointmill_ndt_moments_merge(struct pointmill_ndt_moments *moments,
                                             const struct pointmill_ndt_moments *tile);

// Takes a tile away that was added.
pointmill_status pointmill_ndt_moments_subtract(struct pointmill_ndt_moments *moments,
                                                const struct pointmill_ndt_moments *tile);

// The number of occupied cells.
uint64_t pointmill_ndt_moments_len(const struct pointmill_ndt_moments *moments);

// Destroys the sums and frees their memory.
void pointmill_ndt_moments_destroy(struct pointmill_ndt_moments *moments);

// A grid of the points so far, on the device of the stream. Pass NULL to use the default parameters.
pointmill_status pointmill_ndt_grid_create(const struct pointmill_stream *stream,
                                           const struct pointmill_ndt_moments *moments,
                                           const struct pointmill_ndt_params *params,
                                           struct pointmill_ndt_grid **grid);

// The number of cells.
uint64_t pointmill_ndt_grid_len(const struct pointmill_ndt_grid *grid);

// An array of the cells, of the host: "coords" [V, 3] of i32, x, y, z; "counts" [V] of u32; "mean"
// [V, 3], "covariance" and "inv_covariance" [V, 6], "eigenvalues" and "normal" [V, 3] of f64.
pointmill_status pointmill_ndt_grid_array(struct pointmill_ndt_grid *grid,
                                          const char *name,
                                          struct pointmill_array *array);

// The poses near `num_guesses` guesses at which a scan [N, 3 or more] of f32 or f64 fits best, in as
// many structs, each with its size. It waits for the results.
pointmill_status pointmill_ndt_grid_align(const struct pointmill_ndt_grid *grid,
                                          const struct pointmill_array *scan,
                                          const struct pointmill_pose *guesses,
                                          uint64_t num_guesses,
                                          const struct pointmill_ndt_align_params *params,
                                          struct pointmill_registration *registrations);

// The same of several scans in one call: `num_guesses` says how many of the guesses belong to each.
// An invalid scan fails the call.
pointmill_status pointmill_ndt_grid_align_many(const struct pointmill_ndt_grid *grid,
                                               const struct pointmill_array *scans,
                                               const struct pointmill_pose *guesses,
                                               const uint64_t *num_guesses,
                                               uint64_t num_scans,
                                               const struct pointmill_ndt_align_params *params,
                                               struct pointmill_registration *registrations);

// How well a scan fits at `num_poses` poses: transform_probability, nvtl, score and hits of each, in
// `fits` [4 * num_poses].
pointmill_status pointmill_ndt_grid_score(const struct pointmill_ndt_grid *grid,
                                          const struct pointmill_array *scan,
                                          const struct pointmill_pose *poses,
                                          uint64_t num_poses,
                                          double *fits);

// Destroys the grid and frees its memory.
void pointmill_ndt_grid_destroy(struct pointmill_ndt_grid *grid);

// Sums of a file of moments, `.arrow`.
pointmill_status pointmill_ndt_moments_load(const char *path, struct pointmill_ndt_moments **moments);

// Writes the sums to a file, whole or not at all.
pointmill_status pointmill_ndt_moments_save(const struct pointmill_ndt_moments *moments, const char *path);

// A grid of a file, on the device of the stream: of a map, `.npz`, or made of moments, `.arrow`, or of a
// cloud in any format. `resolution` is the edge of a cell in metres; 0 is that of the file, and 2 m of a
// cloud. The parameters do not count for a map, whose cells are built; null is the defaults.
pointmill_status pointmill_ndt_grid_load(const struct pointmill_stream *stream,
                                         const char *path,
                                         double resolution,
                                         const struct pointmill_ndt_params *params,
                                         struct pointmill_ndt_grid **grid);

// Writes the cells to a file, `.npz`, whole or not at all.
pointmill_status pointmill_ndt_grid_save(const struct pointmill_ndt_grid *grid, const char *path);

// The defaults.
pointmill_status pointmill_odometry_params_init(struct pointmill_odometry_params *params);

// Odometry on the stream. Pass NULL to use the default parameters.
pointmill_status pointmill_odometry_create(const struct pointmill_stream *stream,
                                           const struct pointmill_odometry_params *params,
                                           struct pointmill_odometry **odometry);

// Takes the next sweep [N, 3 or more] of f32 or f64, and the times of its points [N] of f64 in seconds
// on the host, or null. It waits for the result.
pointmill_status pointmill_odometry_push(struct pointmill_odometry *odometry,
                                         const struct pointmill_array *points,
                                         const struct pointmill_array *times,
                                         struct pointmill_step *step);

// The number of sweeps so far.
uint64_t pointmill_odometry_len(const struct pointmill_odometry *odometry);

// An array of the host. Of the sweeps so far, in their order: "poses" [N, 16] of f64, as `m` of
// `world_from_sensor`; "seconds" [N] of f64; "status" [N] of u32, each a pointmill_sweep_status. "map"
// [M, 3] of f64: the points of the map in the world.
pointmill_status pointmill_odometry_array(struct pointmill_odometry *odometry,
                                          const char *name,
                                          struct pointmill_array *array);

// Destroys the odometry and frees its memory.
void pointmill_odometry_destroy(struct pointmill_odometry *odometry);

// A densifier whose work goes to the stream.
pointmill_status pointmill_densifier_create(const struct pointmill_stream *stream,
                                            struct pointmill_densifier **densifier);

// Joins `num_sweeps` sweeps [N, C] of f32. `transforms` takes points of each to the common frame;
// `time_lags`, in seconds, becomes the last column.
pointmill_status pointmill_densifier_run(struct pointmill_densifier *densifier,
                                         const struct pointmill_array *sweeps,
                                         const struct pointmill_pose *transforms,
                                         const float *time_lags,
                                         uint64_t num_sweeps);

// The array of the last call: "points" [sum of N, C + 1] of f32.
pointmill_status pointmill_densifier_array(const struct pointmill_densifier *densifier,
                                           const char *name,
                                           struct pointmill_array *array);

// Destroys the densifier and frees its memory.
void pointmill_densifier_destroy(struct pointmill_densifier *densifier);

// The defaults.
pointmill_status pointmill_pillar_params_init(struct pointmill_pillar_params *params);

// An encoder whose work goes to the stream. Pass NULL to use the default parameters.
pointmill_status pointmill_pillar_encoder_create(const struct pointmill_stream *stream,
                                                 const struct pointmill_pillar_params *params,
                                                 struct pointmill_pillar_encoder **encoder);

// Makes features of pillars as a voxelizer makes them: `voxels` [V, T * C] of f32 with T = `slots`,
// `num_points` [V] and `coords` [V, 3 or 4] of i32.
pointmill_status pointmill_pillar_encoder_run(struct pointmill_pillar_encoder *encoder,
                                              const struct pointmill_array *voxels,
                                              uint64_t slots,
                                              const struct pointmill_array *num_points,
                                              const struct pointmill_array *coords);

// The array of the last call: "features" [V, T * F] of f32.
pointmill_status pointmill_pillar_encoder_array(const struct pointmill_pillar_encoder *encoder,
                                                const char *name,
                                                struct pointmill_array *array);

// Destroys the encoder and frees its memory.
void pointmill_pillar_encoder_destroy(struct pointmill_pillar_encoder *encoder);

// The defaults.
pointmill_status pointmill_register_params_init(struct pointmill_register_params *params);

// Makes a cloud [N, 3 or more] of f32 or f64 ready on the device of the stream. Parameters of null are
// the defaults.
pointmill_status pointmill_register_target_create(const struct pointmill_stream *stream,
                                                  const struct pointmill_array *cloud,
                                                  const struct pointmill_register_params *params,
                                                  struct pointmill_register_target **target);

// The pose that brings a source onto the target, and a verdict. Several threads may call it at a time.
pointmill_status pointmill_register_target_register(const struct pointmill_register_target *target,
                                                    const struct pointmill_array *source,
                                                    struct pointmill_registered *registered);

// Destroys the target and frees its memory.
void pointmill_register_target_destroy(struct pointmill_register_target *target);

// The defaults.
pointmill_status pointmill_roi_pool_params_init(struct pointmill_roi_pool_params *params);

// A pooler whose work goes to the stream. Pass NULL to use the default parameters.
pointmill_status pointmill_roi_pooler_create(const struct pointmill_stream *stream,
                                             const struct pointmill_roi_pool_params *params,
                                             struct pointmill_roi_pooler **pooler);

// Pools `features` [N, C] of the points [N, 3 or more] in each of the boxes [B, 7]: x, y, z, dx, dy,
// dz, heading. Types are f32, f16 or bf16.
pointmill_status pointmill_roi_pooler_run(struct pointmill_roi_pooler *pooler,
                                          const struct pointmill_array *boxes,
                                          const struct pointmill_array *points,
                                          const struct pointmill_array *features);

// An array of the last call: "pooled" [B, ox * oy * oz * C] in the type of the features; "argmax" the
// same of i32; "point_indices" [B, ox * oy * oz * (M + 1)] of i32. Other layouts have "coords",
// "row_splits" of i64 and "indices", and wait for their sizes.
pointmill_status pointmill_roi_pooler_array(const struct pointmill_roi_pooler *pooler,
                                            const char *name,
                                            struct pointmill_array *array);

// Destroys the pooler and frees its memory.
void pointmill_roi_pooler_destroy(struct pointmill_roi_pooler *pooler);

// A worker on the stream, with a pointmill_box_origin and a margin in metres.
pointmill_status pointmill_points_in_boxes_create(const struct pointmill_stream *stream,
                                                  uint32_t origin,
                                                  float margin,
                                                  struct pointmill_points_in_boxes **inside);

// Answers a pointmill_inside about boxes [B, 7] and points [N, 3 or more].
pointmill_status pointmill_points_in_boxes_run(struct pointmill_points_in_boxes *inside,
                                               uint32_t question,
                                               const struct pointmill_array *boxes,
                                               const struct pointmill_array *points);

// An array of the last call; see pointmill_inside.
pointmill_status pointmill_points_in_boxes_array(const struct pointmill_points_in_boxes *inside,
                                                 const char *name,
                                                 struct pointmill_array *array);

// Destroys the worker and frees its memory.
void pointmill_points_in_boxes_destroy(struct pointmill_points_in_boxes *inside);

// Reads a file of any format of the library: its first bytes decide which.
pointmill_status pointmill_scan_read(const char *path, struct pointmill_scan **scan);

// Reads a message: fields of any type, in either order of bytes, wherever they are. Sizes that the
// others and the number of bytes contradict do not count, with a warning.
pointmill_status pointmill_scan_of_message(const struct pointmill_message *message,
                                           struct pointmill_scan **scan);

// What the scan has.
pointmill_status pointmill_scan_get_info(const struct pointmill_scan *scan, struct pointmill_scan_info *info);

// An array of the host: "points" [N, C] of f32, x, y, z and then the other columns; "cloud", what operators
// take: x, y, z of f64 where an f32 loses some of one, else as "points"; "times" [N] of f64, seconds after
// `start`, NaN of points without, and of no rows where no point has one.
pointmill_status pointmill_scan_array(const struct pointmill_scan *scan,
                                      const char *name,
                                      struct pointmill_array *array);

// The name of a column, or null past the last. The text is the scan's.
const char *pointmill_scan_column(const struct pointmill_scan *scan, uint64_t column);

// What is odd about the cloud, one text after the other, or null past the last. The text is the scan's.
const char *pointmill_scan_warning(const struct pointmill_scan *scan, uint64_t index);

// Destroys the scan and frees its memory.
void pointmill_scan_destroy(struct pointmill_scan *scan);

// The defaults.
pointmill_status pointmill_serialize_params_init(struct pointmill_serialize_params *params);

// A serializer whose work goes to the stream. Pass NULL to use the default parameters.
pointmill_status pointmill_serializer_create(const struct pointmill_stream *stream,
                                             const struct pointmill_serialize_params *params,
                                             struct pointmill_serializer **serializer);

// Orders cells [V, 3] of i32, x, y, z. `batch` [V] is the item of each of `num_items`, or null.
// `count` is a u32 that says how many of the rows there are, or null: with it and a given depth no
// call waits.
pointmill_status pointmill_serializer_run(struct pointmill_serializer *serializer,
                                          const struct pointmill_array *coords,
                                          const struct pointmill_array *batch,
                                          uint64_t num_items,
                                          const struct pointmill_array *count);

// An array of the last call, [k, V] for k curves: "codes" of u64, "order" and "inverse" of u32.
// "count" [1] of u32.
pointmill_status pointmill_serializer_array(const struct pointmill_serializer *serializer,
                                            const char *name,
                                            struct pointmill_array *array);

// Waits. Fails if cells of the last call are invalid, which a GPU finds late.
pointmill_status pointmill_serializer_check(const struct pointmill_serializer *serializer);

// Destroys the serializer and frees its memory.
void pointmill_serializer_destroy(struct pointmill_serializer *serializer);

// A pooler of `num_stages` stages. `strides` says how many times larger the cells of each are, powers
// of two; `capacities` how many there is room for, or null for as many as rows come in.
pointmill_status pointmill_pooler_create(const struct pointmill_stream *stream,
                                         const uint32_t *strides,
                                         const uint64_t *capacities,
                                         uint64_t num_stages,
                                         struct pointmill_pooler **pooler);

// Makes larger cells of those that a serializer ordered in its last call. No call waits.
pointmill_status pointmill_pooler_run(struct pointmill_pooler *pooler,
                                      const struct pointmill_serializer *serializer,
                                      const struct pointmill_array *coords,
                                      const struct pointmill_array *batch,
                                      uint64_t num_items);

// An array of a stage of the last call, of V_in rows and V_out larger cells at most: "cluster" [V_in],
// "indptr" [V_out + 1], "indices" [V_in], "head" [V_out], "grid_coord" [V_out, 3], "batch" [V_out] of
// i32; "codes" of u64, "order" and "inverse" of u32, [k, V_out]; "counts" [3] of u32: larger cells,
// those that there was no room for, and rows that came in.
pointmill_status pointmill_pooler_array(const struct pointmill_pooler *pooler,
                                        uint64_t stage,
                                        const char *name,
                                        struct pointmill_array *array);

// Destroys the pooler and frees its memory.
void pointmill_pooler_destroy(struct pointmill_pooler *pooler);

// The defaults.
pointmill_status pointmill_conv_params_init(struct pointmill_conv_params *params);

// A finder of pairs whose work goes to the stream. Pass NULL to use the default parameters.
pointmill_status pointmill_index_pairs_create(const struct pointmill_stream *stream,
                                              const struct pointmill_conv_params *params,
                                              struct pointmill_index_pairs **pairs);

// Finds the pairs of cells [V, 4] of i32, item, z, y, x, of `num_items` items of the shape z, y, x.
// `count` is a u32 that says how many of the rows there are, or null. Inverse layers are given
// `outputs` [N, 4] and `outputs_shape`; others null.
pointmill_status pointmill_index_pairs_run(struct pointmill_index_pairs *pairs,
                                           const struct pointmill_array *cells,
                                           const struct pointmill_array *count,
                                           uint32_t num_items,
                                           const uint32_t (*shape)[3],
                                           const struct pointmill_array *outputs,
                                           const uint32_t (*outputs_shape)[3]);

// An array of the last call, of N outputs at most and K offsets: "cells" [N, 4], "table" [K, N] and
// "counts" [K] of i32; "masks" [N, words] of u32; "lists" [2, K, V] of i32; "num_cells" [2] of u32,
// outputs and those that there was no room for.
pointmill_status pointmill_index_pairs_array(const struct pointmill_index_pairs *pairs,
                                             const char *name,
                                             struct pointmill_array *array);

// Waits. Fails if cells of the last call are outside or repeated, which a GPU finds late.
pointmill_status pointmill_index_pairs_check(const struct pointmill_index_pairs *pairs);

// Destroys the finder and frees its memory.
void pointmill_index_pairs_destroy(struct pointmill_index_pairs *pairs);

// The defaults.
pointmill_status pointmill_grid_sample_params_init(struct pointmill_grid_sample_params *params);

// A sampler whose work goes to the stream. Pass NULL to use the default parameters.
pointmill_status pointmill_grid_sampler_create(const struct pointmill_stream *stream,
                                               const struct pointmill_grid_sample_params *params,
                                               struct pointmill_grid_sampler **sampler);

// Samples points [N, C] of f32, x, y, z first; with `row_splits` those of several items. On a GPU it
// only queues work.
pointmill_status pointmill_grid_sampler_run(struct pointmill_grid_sampler *sampler,
                                            const struct pointmill_array *points,
                                            const uint64_t *row_splits,
                                            uint64_t num_splits);

// An array of the last call, of i32: "grid_coord" [V, 3], x, y, z; "batch", "rows" and "num_points"
// [V]; "inverse" [N]. V is the capacity. "counts" [5] of u32: cells, cells beyond the capacity, points
// that are not finite, outside (without a range too: a stray point moves the grid away from the
// others), and of cells beyond the capacity.
pointmill_status pointmill_grid_sampler_array(const struct pointmill_grid_sampler *sampler,
                                              const char *name,
                                              struct pointmill_array *array);

// Destroys the sampler and frees its memory.
void pointmill_grid_sampler_destroy(struct pointmill_grid_sampler *sampler);

// A new stream on a device: "auto" (the first GPU, else the CPU), "cpu", "cpu:N" with N threads,
// "cuda" or "cuda:N". On the CPU work is done when a call returns.
pointmill_status pointmill_stream_create(const char *device_name, struct pointmill_stream **stream);

// The stream of somebody else: a `CUstream` or `cudaStream_t` of the primary context of GPU `gpu`;
// null is the default stream. It must outlive the result and all handles that were made with it, or
// be there until pointmill_stream_retire has returned.
pointmill_status pointmill_stream_of_cuda(uint32_t gpu, void *cuda_stream, struct pointmill_stream **stream);

// Whether the stream works on a GPU: then results are in its memory.
uint32_t pointmill_stream_is_gpu(const struct pointmill_stream *stream);

// Waits until all queued work is done, and tells what it ran into.
pointmill_status pointmill_stream_synchronize(const struct pointmill_stream *stream);

// Waits for the device, and from then on all work of this stream fails, whose `CUstream` may be
// destroyed afterwards.
pointmill_status pointmill_stream_retire(const struct pointmill_stream *stream);

// Destroys the stream. Handles that were made with it stay usable.
void pointmill_stream_destroy(struct pointmill_stream *stream);

// Records what `work` queues on the stream of a GPU, instead of running it. Run the same calls once
// before, with sizes as large as they get: while it records, nothing is allocated and nothing waits.
// `work` returns a pointmill_status; one other than POINTMILL_OK ends the recording. Streams that the caller records by
// its own means work as well.
pointmill_status pointmill_stream_capture(const struct pointmill_stream *stream,
                                          uint32_t (*work)(void *data),
                                          void *data,
                                          struct pointmill_graph **graph);

// Queues the recorded work on the stream that it was recorded on. All handles and memory that it
// works on must be there, where they were, and no call of theirs must have failed since.
pointmill_status pointmill_graph_launch(struct pointmill_graph *graph);

// Destroys the recording and frees its memory.
void pointmill_graph_destroy(struct pointmill_graph *graph);

// The defaults.
pointmill_status pointmill_voxelize_params_init(struct pointmill_voxelize_params *params);

// A voxelizer whose work goes to the stream. Pass NULL to use the default parameters.
pointmill_status pointmill_voxelizer_create(const struct pointmill_stream *stream,
                                            const struct pointmill_voxelize_params *params,
                                            struct pointmill_voxelizer **voxelizer);

// Voxelizes points [N, C] of f32, x, y, z first. With `row_splits`, `num_splits` ascending numbers
// from 0 to N, the points are those of several samples. On a GPU it only queues work.
pointmill_status pointmill_voxelizer_run(struct pointmill_voxelizer *voxelizer,
                                         const struct pointmill_array *points,
                                         const uint64_t *row_splits,
                                         uint64_t num_splits);

// An array of the last call: "coords" [V, 3] of i32, z, y, x (of several samples [V, 4], the sample
// first); "num_points" [V] of i32; "voxels" [V, M * C] of f32; "mean" [V, C]; "point_to_voxel" [N] of
// i32; "row_splits", "indices" and "voxel_splits" of u32. Of padded outputs V is max_voxels, and rows
// behind the voxels have coordinates -1. "counts" [6] of u32: voxels, occupied cells, points that are
// not finite, out of range, of cells beyond max_voxels, and kept.
pointmill_status pointmill_voxelizer_array(const struct pointmill_voxelizer *voxelizer,
                                           const char *name,
                                           struct pointmill_array *array);

// Destroys the voxelizer and frees its memory.
void pointmill_voxelizer_destroy(struct pointmill_voxelizer *voxelizer);

// Fills the parameters of an operator, a struct of `size` bytes, with the defaults.
pointmill_status pointmill_worker_defaults(const char *operator_, void *params, size_t size);

// A worker of an operator on the stream. Pass NULL to use the default parameters.
pointmill_status pointmill_worker_create(const char *operator_,
                                         const struct pointmill_stream *stream,
                                         const void *params,
                                         struct pointmill_worker **worker);

// Runs a worker. On a GPU it only queues work, unless the operator says otherwise.
pointmill_status pointmill_worker_run(struct pointmill_worker *worker,
                                      const struct pointmill_input *inputs,
                                      uint64_t num_inputs);

// An array of the last call by its name.
pointmill_status pointmill_worker_array(const struct pointmill_worker *worker,
                                        const char *name,
                                        struct pointmill_array *array);

// Waits. Fails if inputs of the last call are invalid, which a GPU finds late.
pointmill_status pointmill_worker_check(const struct pointmill_worker *worker);

// Destroys the worker and frees its memory.
void pointmill_worker_destroy(struct pointmill_worker *worker);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* POINTMILL_H */

#include "pointmill_workers.h"
