// A stand-in for tf2_ros.
#pragma once
#include <tf2_ros/buffer.h>

namespace tf2_ros {
struct TransformListener {
  explicit TransformListener(Buffer&) {}
};
}  // namespace tf2_ros
