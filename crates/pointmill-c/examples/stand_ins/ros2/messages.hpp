// Stand-ins for messages of ROS 2: the fields that the nodes use, by their names and types.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#define STAND_IN(type) using ConstSharedPtr = std::shared_ptr<const type>;

namespace builtin_interfaces::msg {
struct Time {
  int32_t sec = 0;
  uint32_t nanosec = 0;
};
}  // namespace builtin_interfaces::msg

namespace std_msgs::msg {
struct Header {
  builtin_interfaces::msg::Time stamp;
  std::string frame_id;
};
}  // namespace std_msgs::msg

namespace geometry_msgs::msg {
struct Vector3 {
  double x = 0, y = 0, z = 0;
};
using Point = Vector3;
struct Quaternion {
  double x = 0, y = 0, z = 0, w = 1;
};
struct Pose {
  Point position;
  Quaternion orientation;
};
struct PoseStamped {
  std_msgs::msg::Header header;
  Pose pose;
};
struct PoseWithCovariance {
  Pose pose;
  std::array<double, 36> covariance = {};
};
struct PoseWithCovarianceStamped {
  STAND_IN(PoseWithCovarianceStamped)
  std_msgs::msg::Header header;
  PoseWithCovariance pose;
};
struct Twist {
  Vector3 linear, angular;
};
struct TwistWithCovariance {
  Twist twist;
  std::array<double, 36> covariance = {};
};
struct Transform {
  Vector3 translation;
  Quaternion rotation;
};
struct TransformStamped {
  std_msgs::msg::Header header;
  std::string child_frame_id;
  Transform transform;
};
}  // namespace geometry_msgs::msg

namespace nav_msgs::msg {
struct Odometry {
  std_msgs::msg::Header header;
  std::string child_frame_id;
  geometry_msgs::msg::PoseWithCovariance pose;
  geometry_msgs::msg::TwistWithCovariance twist;
};
struct Path {
  std_msgs::msg::Header header;
  std::vector<geometry_msgs::msg::PoseStamped> poses;
};
}  // namespace nav_msgs::msg

namespace sensor_msgs::msg {
struct PointField {
  static constexpr uint8_t FLOAT32 = 7;
  std::string name;
  uint32_t offset = 0;
  uint8_t datatype = 0;
  uint32_t count = 0;
};
struct PointCloud2 {
  STAND_IN(PointCloud2)
  std_msgs::msg::Header header;
  uint32_t height = 0, width = 0;
  std::vector<PointField> fields;
  bool is_bigendian = false;
  uint32_t point_step = 0, row_step = 0;
  std::vector<uint8_t> data;
  bool is_dense = false;
};
}  // namespace sensor_msgs::msg

namespace diagnostic_msgs::msg {
struct KeyValue {
  std::string key, value;
};
struct DiagnosticStatus {
  static constexpr unsigned char OK = 0, WARN = 1, ERROR = 2;
  unsigned char level = 0;
  std::string name, message, hardware_id;
  std::vector<KeyValue> values;
};
struct DiagnosticArray {
  std_msgs::msg::Header header;
  std::vector<DiagnosticStatus> status;
};
}  // namespace diagnostic_msgs::msg

namespace std_srvs::srv {
struct Trigger {
  struct Request {};
  struct Response {
    bool success = false;
    std::string message;
  };
};
}  // namespace std_srvs::srv
#undef STAND_IN
