// Messages of ROS 2 into what pointmill takes, and back.
#pragma once

#include <builtin_interfaces/msg/time.hpp>
#include <geometry_msgs/msg/pose.hpp>
#include <geometry_msgs/msg/transform.hpp>
#include <pointmill.hpp>
#include <sensor_msgs/msg/point_cloud2.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace pointmill_ros {

/// The points and times of a message. The rules of sizes, orders of bytes and units are the library's.
inline pointmill::Result<pointmill::Scan> scan_of(const sensor_msgs::msg::PointCloud2& cloud) {
  std::vector<pointmill_message_field> fields;
  for (const auto& field : cloud.fields) {
    fields.push_back({field.name.c_str(), field.offset, field.datatype, field.count});
  }
  auto message = pointmill::sized<pointmill_message>();
  message.fields = fields.data();
  message.num_fields = fields.size();
  message.data = cloud.data.data();
  message.num_bytes = cloud.data.size();
  message.height = cloud.height;
  message.width = cloud.width;
  message.point_step = cloud.point_step;
  message.row_step = cloud.row_step;
  message.is_bigendian = cloud.is_bigendian ? 1 : 0;
  return pointmill::Scan::of(message);
}

inline double seconds_of(const builtin_interfaces::msg::Time& stamp) { return stamp.sec + 1e-9 * stamp.nanosec; }

inline builtin_interfaces::msg::Time stamp_of(double seconds) {
  builtin_interfaces::msg::Time stamp;
  const double whole = std::floor(seconds);
  const auto nanoseconds = static_cast<uint32_t>(std::llround(1e9 * (seconds - whole)));
  stamp.sec = static_cast<int32_t>(whole) + (nanoseconds >= 1000000000u ? 1 : 0);
  stamp.nanosec = nanoseconds >= 1000000000u ? nanoseconds - 1000000000u : nanoseconds;
  return stamp;
}

/// The time that times of points count from, in seconds since 1970, of a message with this stamp.
inline double start_of(const pointmill_scan_info& info, const builtin_interfaces::msg::Time& stamp) {
  return info.times_of_epoch != 0 ? info.start : seconds_of(stamp) + info.start;
}

inline pointmill_pose compose(const pointmill_pose& a, const pointmill_pose& b) {
  pointmill_pose made = pointmill::identity();
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 4; j++) {
      made.m[4 * i + j] = j == 3 ? a.m[4 * i + 3] : 0.0;
      for (int k = 0; k < 3; k++) made.m[4 * i + j] += a.m[4 * i + k] * b.m[4 * k + j];
    }
  }
  return made;
}

inline pointmill_pose inverse(const pointmill_pose& pose) {
  pointmill_pose made = pointmill::identity();
  for (int i = 0; i < 3; i++) {
    made.m[4 * i + 3] = 0.0;
    for (int j = 0; j < 3; j++) {
      made.m[4 * i + j] = pose.m[4 * j + i];
      made.m[4 * i + 3] -= pose.m[4 * j + i] * pose.m[4 * j + 3];
    }
  }
  return made;
}

/// w, x, y, z of a rotation, with w of at least 0.
inline std::array<double, 4> quaternion_of(const pointmill_pose& pose) {
  const auto m = [&](int i, int j) { return pose.m[4 * i + j]; };
  // The largest of the four is found first, so that nothing small divides.
  std::array<double, 4> q = {1 + m(0, 0) + m(1, 1) + m(2, 2), 1 + m(0, 0) - m(1, 1) - m(2, 2),
                             1 - m(0, 0) + m(1, 1) - m(2, 2), 1 - m(0, 0) - m(1, 1) + m(2, 2)};
  int most = 0;
  for (int i = 1; i < 4; i++) most = q[i] > q[most] ? i : most;
  const double a = m(2, 1) - m(1, 2), b = m(0, 2) - m(2, 0), c = m(1, 0) - m(0, 1);
  const double xy = m(0, 1) + m(1, 0), xz = m(0, 2) + m(2, 0), yz = m(1, 2) + m(2, 1);
  const double rows[4][4] = {{q[0], a, b, c}, {a, q[1], xy, xz}, {b, xy, q[2], yz}, {c, xz, yz, q[3]}};
  double norm = 0.0;
  for (const double value : rows[most]) norm += value * value;
  norm = std::copysign(std::sqrt(norm), rows[most][0]);
  for (int i = 0; i < 4; i++) q[i] = rows[most][i] / norm;
  return q;
}

template <class Position, class Orientation>
void to_message(const pointmill_pose& pose, Position& position, Orientation& orientation) {
  const auto q = quaternion_of(pose);
  position.x = pose.m[3];
  position.y = pose.m[7];
  position.z = pose.m[11];
  orientation.w = q[0];
  orientation.x = q[1];
  orientation.y = q[2];
  orientation.z = q[3];
}

/// A quaternion of no length makes no rotation, which functions of pointmill refuse.
template <class Position, class Orientation>
pointmill_pose of_message(const Position& at, const Orientation& q) {
  const double s = 2.0 / (q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  return {{1 - s * (q.y * q.y + q.z * q.z), s * (q.x * q.y - q.w * q.z), s * (q.x * q.z + q.w * q.y), at.x,
           s * (q.x * q.y + q.w * q.z), 1 - s * (q.x * q.x + q.z * q.z), s * (q.y * q.z - q.w * q.x), at.y,
           s * (q.x * q.z - q.w * q.y), s * (q.y * q.z + q.w * q.x), 1 - s * (q.x * q.x + q.y * q.y), at.z,
           0, 0, 0, 1}};
}

inline geometry_msgs::msg::Pose pose_message(const pointmill_pose& pose) {
  geometry_msgs::msg::Pose made;
  to_message(pose, made.position, made.orientation);
  return made;
}

inline geometry_msgs::msg::Transform transform_message(const pointmill_pose& pose) {
  geometry_msgs::msg::Transform made;
  to_message(pose, made.translation, made.rotation);
  return made;
}

using Matrix3 = std::array<std::array<double, 3>, 3>;

/// What a rotation vector is of the change of roll, pitch and yaw at a pose.
inline Matrix3 turns_of_angles(const pointmill_pose& pose) {
  const double yaw = std::atan2(pose.m[4], pose.m[0]), cy = std::cos(yaw), sy = std::sin(yaw);
  const double cp = std::hypot(pose.m[0], pose.m[4]), sp = -pose.m[8];
  return {{{cy * cp, -sy, 0}, {sy * cp, cy, 0}, {-sp, 0, 1}}};
}

/// A covariance of ROS, of a translation and turns about fixed axes, at a point that is `lever` away from
/// the one that `covariance` is about. `turns` makes a rotation vector of its last three numbers, and
/// `rotation` takes the axes to those of the message.
inline std::array<double, 36> covariance_at(const double (&covariance)[36], const std::array<double, 3>& lever,
                                            const Matrix3& turns, const pointmill_pose& rotation) {
  const auto& [x, y, z] = lever;
  const Matrix3 cross = {{{0, z, -y}, {-z, 0, x}, {y, -x, 0}}};  // of a turn w: w x lever
  double moved[6][6] = {};
  for (int i = 0; i < 3; i++) {
    moved[i][i] = 1;
    for (int j = 0; j < 3; j++) {
      moved[3 + i][3 + j] = turns[i][j];
      for (int k = 0; k < 3; k++) moved[i][3 + j] += cross[i][k] * turns[k][j];
    }
  }
  double jacobian[6][6] = {};
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < 6; j++) {
      for (int k = 0; k < 3; k++) jacobian[i][j] += rotation.m[4 * (i % 3) + k] * moved[i / 3 * 3 + k][j];
    }
  }
  std::array<double, 36> made = {};
  for (int i = 0; i < 36; i++) {
    for (int j = 0; j < 36; j++) made[i] += jacobian[i / 6][j / 6] * covariance[j] * jacobian[i % 6][j % 6];
  }
  return made;
}

inline constexpr Matrix3 kVector = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

/// A covariance that says that nothing is known.
inline std::array<double, 36> unknown() {
  std::array<double, 36> made = {};
  for (int i = 0; i < 6; i++) made[7 * i] = 1e6;
  return made;
}

/// Points x, y, z as a message.
inline sensor_msgs::msg::PointCloud2 cloud_message(const std::vector<double>& xyz) {
  sensor_msgs::msg::PointCloud2 cloud;
  const std::vector<float> values(xyz.begin(), xyz.end());
  const uint16_t one = 1;
  uint8_t first = 0;
  std::memcpy(&first, &one, 1);
  cloud.height = 1;
  cloud.width = static_cast<uint32_t>(values.size() / 3);
  for (uint32_t axis = 0; axis < 3; axis++) {
    sensor_msgs::msg::PointField field;
    field.name = std::string(1, "xyz"[axis]);
    field.offset = 4 * axis;
    field.datatype = sensor_msgs::msg::PointField::FLOAT32;
    field.count = 1;
    cloud.fields.push_back(field);
  }
  cloud.is_bigendian = first == 0;
  cloud.point_step = 12;
  cloud.row_step = 12 * cloud.width;
  cloud.is_dense = true;
  cloud.data.resize(4 * values.size());
  if (!values.empty()) std::memcpy(cloud.data.data(), values.data(), cloud.data.size());
  return cloud;
}

}  // namespace pointmill_ros
