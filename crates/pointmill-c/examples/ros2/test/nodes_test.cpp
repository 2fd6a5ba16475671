// The conversion and both nodes on a street that is made, without ROS: with the headers of stand_ins.
#include "../../street.hpp"
#include "../src/localization_node.hpp"
#include "../src/odometry_node.hpp"

#include <cstdlib>
#include <limits>

namespace {

using Cloud = sensor_msgs::msg::PointCloud2;
using Status = diagnostic_msgs::msg::DiagnosticStatus;
using pointmill_ros::compose;
using pointmill_ros::inverse;
using pointmill_ros::scan_of;
using pointmill_ros::seconds_of;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
      std::exit(1);                                                            \
    }                                                                          \
  } while (false)

bool near(double a, double b, double most) { return std::fabs(a - b) <= most; }

bool same(const pointmill_pose& a, const pointmill_pose& b, double most = 1e-9) {
  for (int i = 0; i < 16; i++) {
    if (!near(a.m[i], b.m[i], most)) return false;
  }
  return true;
}

/// Bytes of a value, in this order or the other.
template <class T>
void append(Cloud& cloud, T value) {
  uint8_t bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  for (size_t i = 0; i < sizeof(T); i++) cloud.data.push_back(bytes[cloud.is_bigendian ? sizeof(T) - 1 - i : i]);
}

sensor_msgs::msg::PointField field(const char* name, uint32_t offset, uint8_t datatype) {
  sensor_msgs::msg::PointField made;
  made.name = name;
  made.offset = offset;
  made.datatype = datatype;
  made.count = 1;
  return made;
}

/// A cloud of coordinates of T in rows with gaps, with times of `Time` in a field.
template <class T, class Time>
Cloud cloud(bool big_endian, uint32_t gap, const char* name, uint8_t type, Time first, Time step) {
  Cloud made;
  const uint8_t of_t = sizeof(T) == 8 ? 8 : 7;
  const uint32_t size = sizeof(T);
  made.is_bigendian = big_endian;
  made.height = 2;
  made.width = 1500;
  made.point_step = 3 * size + sizeof(Time) + 3;
  made.row_step = made.width * made.point_step + gap;
  made.fields = {field("x", 0, of_t), field("y", size, of_t), field("z", 2 * size, of_t), field(name, 3 * size, type)};
  for (uint32_t i = 0; i < 3000; i++) {
    for (const double value : {0.1 * i, -0.2 * i, 0.3}) append(made, static_cast<T>(value));
    append(made, static_cast<Time>(first + step * i));
    made.data.insert(made.data.end(), 3, 0xff);
    if (i == 1499) made.data.insert(made.data.end(), gap, 0xee);
  }
  return made;
}

template <class T, class Time>
void check_layout(const char* name, uint8_t type, Time first, Time step, double start, double span) {
  for (const bool big_endian : {false, true}) {
    for (const uint32_t gap : {0u, 5u}) {
      auto given = cloud<T, Time>(big_endian, gap, name, type, first, step);
      // Steps that lie do not count, where the bytes say how the rows are.
      for (const uint32_t row_step : {given.row_step, 0u, 77u}) {
        if (gap != 0 && row_step != given.row_step) continue;
        auto lies = given;
        lies.row_step = row_step;
        const auto scan = scan_of(lies);
        CHECK(scan.has_value());
        const auto points = scan.value().cloud();
        CHECK(points && points.value().rows == 3000);
        for (const uint32_t i : {0u, 1499u, 1500u, 2999u}) {
          const size_t at = i * points.value().columns;
          const double x = points.value().type == POINTMILL_F64 ? static_cast<double*>(points.value().data)[at]
                                                              : static_cast<float*>(points.value().data)[at];
          CHECK(x == static_cast<double>(static_cast<T>(0.1 * i)));
        }
        const auto info = scan.value().info();
        CHECK(info && info.value().has_times == 1 && near(info.value().span, span, 1e-5));
        builtin_interfaces::msg::Time stamp;
        stamp.sec = 1000;
        CHECK(near(pointmill_ros::start_of(info.value(), stamp), start, 1e-5));
      }
    }
  }
}

void conversion() {
  check_layout<float, uint32_t>("t", 6, 0, 33333, 1000.0, 0.0999657);
  check_layout<double, uint32_t>("offset_time", 6, 500, 33333, 1000.0000005, 0.0999657);
  check_layout<double, float>("time", 7, 0.0f, 3.3333e-5f, 1000.0, 0.0999657);
  check_layout<float, double>("timestamp", 8, 1.7e9, 3.3333e-5, 1.7e9, 0.0999657);
  check_layout<float, double>("timestamp", 8, 1.7e18, 33333.0, 1.7e9, 0.0999657);

  // Sizes that the bytes contradict are refused, whatever they say.
  auto good = cloud<float, uint32_t>(false, 0, "t", 6, 0, 33333);
  for (int i = 0; i < 6; i++) {
    auto bad = good;
    if (i == 0) bad.width = std::numeric_limits<uint32_t>::max();
    if (i == 1) bad.height = 3;
    if (i == 2) bad.point_step = std::numeric_limits<uint32_t>::max();
    if (i == 3) bad.data.pop_back();
    if (i == 4) bad.fields[2].offset = 100;
    if (i == 5) bad.fields.erase(bad.fields.begin());
    const auto scan = scan_of(bad);
    CHECK(!scan && !scan.error().message.empty());
  }
  const auto empty = scan_of(Cloud());
  CHECK(empty && empty.value().info().value().points == 0);

  // What is made of points is read again.
  const auto again = scan_of(pointmill_ros::cloud_message({1, 2, 3, -4, 5.5, 0.25}));
  CHECK(again && again.value().info().value().points == 2);
  CHECK(static_cast<float*>(again.value().points().value().data)[4] == 5.5f);
}

pointmill_pose posed(double x, double y, double z, double w, double i, double j, double k) {
  geometry_msgs::msg::Vector3 at{x, y, z};
  geometry_msgs::msg::Quaternion q{i, j, k, w};
  return pointmill_ros::of_message(at, q);
}

void poses() {
  for (const auto& pose : {posed(1, 2, 3, 1, 0, 0, 0), posed(0, 0, 0, 0, 1, 0, 0), posed(0, 1, 0, 0, 0, 1, 0),
                           posed(4, 0, 1, 0, 0, 0, 2), posed(1, 1, 1, 0.5, -0.5, 0.5, 0.5), posed(0, 0, 9, 1, 2, -3, 4),
                           posed(0, 0, 0, -1, 0.1, 0, 0.2)}) {
    const auto message = pointmill_ros::pose_message(pose);
    CHECK(message.orientation.w >= 0.0);
    CHECK(same(pointmill_ros::of_message(message.position, message.orientation), pose));
    CHECK(same(compose(pose, inverse(pose)), pointmill::identity()));
  }
  for (const double seconds : {0.0, 1.5, 1.7e9 + 0.25, 12.9999999999, -0.5}) {
    const auto stamp = pointmill_ros::stamp_of(seconds);
    CHECK(stamp.nanosec < 1000000000u && near(seconds_of(stamp), seconds, 1e-6));
  }
  // Of a turn about z alone, a point 2 m ahead is unsure to the side.
  double covariance[36] = {};
  covariance[35] = 0.01;
  const auto at = pointmill_ros::covariance_at(covariance, {2, 0, 0}, pointmill_ros::kVector, pointmill::identity());
  CHECK(near(at[7], 0.04, 1e-12) && near(at[0], 0, 1e-12) && near(at[35], 0.01, 1e-12) && near(at[11], 0.02, 1e-12));
  const auto turned = posed(0, 0, 0, 1, 0, 0, 1);  // A quarter about z: y becomes -x.
  const auto side = pointmill_ros::covariance_at(covariance, {2, 0, 0}, pointmill_ros::kVector, turned);
  CHECK(near(side[0], 0.04, 1e-12) && near(side[7], 0, 1e-12));
  // Facing y, an angle of roll turns about y.
  double roll[36] = {};
  roll[21] = 0.01;
  const auto turns = pointmill_ros::turns_of_angles(turned);
  const auto axes = pointmill_ros::covariance_at(roll, {0, 0, 0}, turns, pointmill::identity());
  CHECK(near(axes[28], 0.01, 1e-12) && near(axes[21], 0, 1e-12));
}

Cloud seen(double x, int sweep, float lift = 0.0f) {
  const auto points = street(x);
  std::vector<double> xyz(points.begin(), points.end());
  for (size_t i = 2; i < xyz.size(); i += 3) xyz[i] += lift;
  auto made = pointmill_ros::cloud_message(xyz);
  made.header.frame_id = "lidar";
  made.header.stamp = pointmill_ros::stamp_of(100.0 + 0.1 * sweep);
  return made;
}

Status last_status() {
  return stand_in::sent<diagnostic_msgs::msg::DiagnosticArray>("/diagnostics").back().status.front();
}

/// The sensor is 1 m ahead of the vehicle's middle and faces left.
pointmill_pose mount() { return posed(1, 0, 0.5, 1, 0, 0, 1); }

void clear() {
  stand_in::published.clear();
  stand_in::transforms.clear();
}

void odometry() {
  clear();
  rclcpp::NodeOptions options;
  options.append_parameter_override<std::string>("base_frame", "base_link");
  options.append_parameter_override<int64_t>("path_length", 3);
  pointmill_ros::OdometryNode node(options);
  CHECK(!stand_in::call<std_srvs::srv::Trigger>("publish_map").success);
  // Without the transform nothing is published, and the diagnostics say so.
  stand_in::send("points", seen(0.0, 0));
  CHECK(stand_in::published["odometry"].empty() && last_status().level == Status::ERROR);
  stand_in::transforms[{"base_link", "lidar"}] = pointmill_ros::transform_message(mount());
  for (int i = 0; i < 5; i++) stand_in::send("points", seen(0.3 * i, i));
  const auto all = stand_in::sent<nav_msgs::msg::Odometry>("odometry");
  CHECK(all.size() == 5 && stand_in::published["/tf"].size() == 5);
  for (size_t i = 0; i < all.size(); i++) {
    // The sensor's x is the vehicle's y.
    const auto& at = all[i].pose.pose.position;
    CHECK(near(at.x, 0, 0.05) && near(at.y, 0.3 * i, 0.05) && near(at.z, 0, 0.05));
    CHECK(all[i].header.frame_id == "odom" && all[i].child_frame_id == "base_link");
    CHECK(near(seconds_of(all[i].header.stamp), 100.0 + 0.1 * i, 1e-6));
    CHECK(i == 0 || (all[i].pose.covariance[7] > 0.0 && all[i].pose.covariance[7] < 1.0));
  }
  CHECK(near(all[4].twist.twist.linear.y, 3.0, 0.5) && near(all[4].twist.twist.angular.z, 0, 0.1));
  CHECK(stand_in::sent<nav_msgs::msg::Path>("path").back().poses.size() == 3);
  CHECK(last_status().level == Status::OK && last_status().message == "tracked");
  const auto tf = stand_in::sent<geometry_msgs::msg::TransformStamped>("/tf").back();
  CHECK(tf.header.frame_id == "odom" && tf.child_frame_id == "base_link");
  CHECK(near(tf.transform.translation.y, 1.2, 0.05));

  // A cloud that cannot be read, one of nothing: no pose of either.
  auto broken = seen(1.5, 5);
  broken.data.pop_back();
  stand_in::send("points", broken);
  CHECK(last_status().level == Status::ERROR);
  auto nothing = pointmill_ros::cloud_message({});
  nothing.header = broken.header;
  stand_in::send("points", nothing);
  CHECK(last_status().level == Status::ERROR && last_status().message == "too few points");
  CHECK(stand_in::published["odometry"].size() == 5);

  const auto response = stand_in::call<std_srvs::srv::Trigger>("publish_map");
  CHECK(response.success && stand_in::published["map"].size() == 1);
  const auto map = scan_of(stand_in::sent<Cloud>("map").back());
  CHECK(map && map.value().info().value().points > 3000);
}

void localization() {
  clear();
  auto stream = pointmill::stream("cpu");
  auto moments = pointmill::NdtMoments::create(2.0);
  CHECK(stream && moments && moments->add(rows(street(0.0))));
  auto built = pointmill::NdtMap::create(*stream, *moments);
  const char* folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/pointmill_nodes_test.npz";
  CHECK(built && built->save(path));

  rclcpp::NodeOptions options;
  options.append_parameter_override<std::string>("map", path);
  options.append_parameter_override<std::string>("odom_frame", "odom");
  pointmill_ros::LocalizationNode node(options);
  std::remove(path.c_str());
  using Pose = geometry_msgs::msg::PoseWithCovarianceStamped;
  Pose start;
  start.header.frame_id = "elsewhere";
  start.pose.pose.position.x = 1e6;
  stand_in::send("/initialpose", start);  // Of another frame: it does not count.
  start.header.frame_id = "map";
  start.pose.pose.position.x = 0.2;
  stand_in::send("/initialpose", start);
  stand_in::send("points", seen(0.3, 0));
  // A pose without a transform to odom.
  CHECK(stand_in::published["pose"].size() == 1 && stand_in::published["/tf"].empty());
  CHECK(last_status().level == Status::OK);
  stand_in::transforms[{"odom", "lidar"}] = pointmill_ros::transform_message(pointmill::translation(5, 1, 0));
  for (int i = 1; i < 4; i++) stand_in::send("points", seen(0.3 + 0.3 * i, i));
  const auto poses = stand_in::sent<Pose>("pose");
  CHECK(poses.size() == 4);
  for (size_t i = 0; i < poses.size(); i++) {
    CHECK(near(poses[i].pose.pose.position.x, 0.3 + 0.3 * i, 0.1) && poses[i].header.frame_id == "map");
    CHECK(near(seconds_of(poses[i].header.stamp), 100.0 + 0.1 * i, 1e-6) && poses[i].pose.covariance[0] > 0.0);
  }
  const auto tf = stand_in::sent<geometry_msgs::msg::TransformStamped>("/tf").back();
  CHECK(tf.header.frame_id == "map" && tf.child_frame_id == "odom");
  CHECK(near(tf.transform.translation.x, 1.2 - 5.0, 0.1) && near(tf.transform.translation.y, -1.0, 0.1));

  // Scans that the map does not have: no pose, no transform, and the diagnostics say it.
  for (int i = 4; i < 12; i++) {
    stand_in::send("points", seen(1.5, i, 40.0f));
    CHECK(last_status().level != Status::OK && last_status().values.front().value != "none");
  }
  CHECK(last_status().level == Status::ERROR && last_status().message == "lost");
  CHECK(stand_in::published["pose"].size() == 4 && stand_in::published["/tf"].size() == 3);

  // A map that is not there ends the node with its name.
  options.append_parameter_override<std::string>("map", path + ".none");
  try {
    pointmill_ros::LocalizationNode none(options);
    CHECK(false);
  } catch (const std::runtime_error& failure) {
    CHECK(std::string(failure.what()).find(".none") != std::string::npos);
  }
}

}  // namespace

int main() {
  conversion();
  poses();
  odometry();
  localization();
  std::puts("conversion, poses, odometry, localization");
  return 0;
}
