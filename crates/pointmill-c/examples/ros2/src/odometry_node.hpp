// Odometry of PointCloud2: poses, their path, a transform, and the map when asked for.
#pragma once

#include "node.hpp"

#include <geometry_msgs/msg/pose_stamped.hpp>
#include <nav_msgs/msg/odometry.hpp>
#include <nav_msgs/msg/path.hpp>
#include <std_srvs/srv/trigger.hpp>

#include <iterator>

namespace pointmill_ros {

inline const char* name_of_sweep(uint32_t status) {
  static const char* const names[] = {"started", "tracked", "degenerate", "not converged", "repeated",
                                      "too few points", "lost", "recovered", "ambiguous"};
  return status < std::size(names) ? names[status] : "unknown";
}

class OdometryNode : public Node {
 public:
  explicit OdometryNode(const rclcpp::NodeOptions& options)
      : Node("odometry_node", options),
        odom_frame_(declare_parameter<std::string>("odom_frame", "odom")),
        path_length_(declare_parameter<int64_t>("path_length", 10000)) {
    params_ = pointmill::defaults(pointmill_odometry_params_init);
    params_.voxel_size = declare_parameter<double>("voxel_size", params_.voxel_size);
    params_.min_range = declare_parameter<double>("min_range", params_.min_range);
    params_.max_range = declare_parameter<double>("max_range", params_.max_range);
    params_.deskew = declare_parameter<bool>("deskew", params_.deskew != 0) ? 1 : 0;
    params_.keep_map = declare_parameter<bool>("keep_map", true) ? 1 : 0;
    odometry_.emplace(value_or_throw(pointmill::Odometry::create(stream_, &params_)));
    odometry_publisher_ = create_publisher<nav_msgs::msg::Odometry>("odometry", rclcpp::QoS(10));
    path_publisher_ = create_publisher<nav_msgs::msg::Path>("path", rclcpp::QoS(1));
    map_publisher_ = create_publisher<Cloud>("map", rclcpp::QoS(1).transient_local());
    service_ = create_service<std_srvs::srv::Trigger>(
        "publish_map", [this](const std::shared_ptr<std_srvs::srv::Trigger::Request>,
                              std::shared_ptr<std_srvs::srv::Trigger::Response> response) { publish_map(*response); });
    subscription_ = create_subscription<Cloud>("points", rclcpp::SensorDataQoS(),
                                               [this](Cloud::ConstSharedPtr cloud) { on_cloud(*cloud); });
    path_.header.frame_id = odom_frame_;
  }

 private:
  void on_cloud(const Cloud& cloud) {
    // The first place of the base is that of the frame of the odometry, and it stays where it is on the vehicle.
    if (!base_from_sensor_) {
      base_from_sensor_ = look_up(child_frame(cloud), cloud.header.frame_id, rclcpp::Time(cloud.header.stamp));
    }
    if (!base_from_sensor_) return say(cloud, Diagnostic::ERROR, "no transform to " + child_frame(cloud), {});
    auto scan = read(cloud);
    if (!scan) return;
    const auto info = value_or_throw(scan->info());
    const auto points = value_or_throw(scan->cloud());
    auto times = value_or_throw(scan->times());
    std::vector<double> seconds(times.rows);
    for (size_t i = 0; i < seconds.size(); i++) {
      seconds[i] = start_of(info, cloud.header.stamp) + static_cast<const double*>(times.data)[i];
    }
    const auto of_points = pointmill::array(seconds.data(), seconds.size(), 1);
    auto step = odometry_->push(points, info.has_times != 0 ? &of_points : nullptr);
    if (!step) return say(cloud, Diagnostic::ERROR, step.error().message, {});

    const bool is_pose = step->status != POINTMILL_SWEEP_LOST && step->status != POINTMILL_SWEEP_TOO_FEW_POINTS;
    const bool is_sure = step->status <= POINTMILL_SWEEP_TRACKED || step->status == POINTMILL_SWEEP_REPEATED ||
                         step->status == POINTMILL_SWEEP_RECOVERED;
    say(cloud, is_sure ? Diagnostic::OK : is_pose ? Diagnostic::WARN : Diagnostic::ERROR, name_of_sweep(step->status),
        {{"explained", std::to_string(step->explained)}, {"map points", std::to_string(step->map_points)}});
    if (is_pose) publish(cloud, *step);
  }

  void publish(const Cloud& cloud, const pointmill_step& step) {
    const auto sensor_from_base = inverse(*base_from_sensor_);
    const auto at = compose(step.world_from_sensor, sensor_from_base);
    const auto pose = compose(*base_from_sensor_, at);
    nav_msgs::msg::Odometry message;
    message.header.frame_id = odom_frame_;
    // Where motion within the sweep is taken out, the pose is that of the middle of its times.
    const bool is_middle = params_.deskew != 0 && !std::isnan(step.seconds);
    message.header.stamp = is_middle ? stamp_of(step.seconds) : cloud.header.stamp;
    message.child_frame_id = child_frame(cloud);
    message.pose.pose = pose_message(pose);
    const std::array<double, 3> lever = {at.m[3] - step.pivot[0], at.m[7] - step.pivot[1], at.m[11] - step.pivot[2]};
    message.pose.covariance = step.has_covariance != 0
                                  ? covariance_at(step.covariance, lever, kVector, *base_from_sensor_)
                                  : unknown();
    if (step.status == POINTMILL_SWEEP_STARTED) message.pose.covariance = {};
    set_twist(message, pose);
    odometry_publisher_->publish(message);

    geometry_msgs::msg::PoseStamped stamped;
    stamped.header = message.header;
    stamped.pose = message.pose.pose;
    path_.header.stamp = message.header.stamp;
    path_.poses.push_back(stamped);
    if (path_length_ > 0 && path_.poses.size() > static_cast<size_t>(path_length_)) {
      path_.poses.erase(path_.poses.begin());
    }
    path_publisher_->publish(path_);
    if (publish_tf_) send(odom_frame_, message.child_frame_id, message.header.stamp, pose);
  }

  /// The mean motion since the pose before, in the frame of the vehicle.
  void set_twist(nav_msgs::msg::Odometry& message, const pointmill_pose& pose) {
    const double now = seconds_of(message.header.stamp), passed = now - last_seconds_;
    message.twist.covariance = unknown();
    if (last_ && passed > 0.0) {
      const auto moved = compose(inverse(*last_), pose);
      const auto q = quaternion_of(moved);
      const double s = std::sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
      const double turn = s > 1e-12 ? 2.0 * std::atan2(s, q[0]) / s / passed : 2.0 / passed;
      auto& linear = message.twist.twist.linear;
      auto& angular = message.twist.twist.angular;
      linear.x = moved.m[3] / passed;
      linear.y = moved.m[7] / passed;
      linear.z = moved.m[11] / passed;
      angular.x = turn * q[1];
      angular.y = turn * q[2];
      angular.z = turn * q[3];
    }
    last_ = pose;
    last_seconds_ = now;
  }

  void publish_map(std_srvs::srv::Trigger::Response& response) {
    auto map = odometry_->map();
    response.success = map && !map->empty() && base_from_sensor_;
    response.message = !map ? map.error().message : std::to_string(map->size() / 3) + " points";
    if (!response.success) return;
    for (size_t i = 0; i < map->size(); i += 3) {
      auto* point = map->data() + i;
      const auto at = compose(*base_from_sensor_, pointmill::translation(point[0], point[1], point[2]));
      for (int axis = 0; axis < 3; axis++) point[axis] = at.m[4 * axis + 3];
    }
    auto cloud = cloud_message(*map);
    cloud.header.frame_id = odom_frame_;
    cloud.header.stamp = path_.header.stamp;
    map_publisher_->publish(cloud);
  }

  std::string odom_frame_;
  int64_t path_length_;
  pointmill_odometry_params params_;
  std::optional<pointmill::Odometry> odometry_;
  std::optional<pointmill_pose> base_from_sensor_, last_;
  double last_seconds_ = 0.0;
  nav_msgs::msg::Path path_;
  rclcpp::Publisher<nav_msgs::msg::Odometry>::SharedPtr odometry_publisher_;
  rclcpp::Publisher<nav_msgs::msg::Path>::SharedPtr path_publisher_;
  rclcpp::Publisher<Cloud>::SharedPtr map_publisher_;
  rclcpp::Service<std_srvs::srv::Trigger>::SharedPtr service_;
  rclcpp::Subscription<Cloud>::SharedPtr subscription_;
};

}  // namespace pointmill_ros
