// Localization of PointCloud2 in a map of a file. A scan that is not found gives no pose.
#pragma once

#include "node.hpp"

#include <geometry_msgs/msg/pose_with_covariance_stamped.hpp>

#include <iterator>

namespace pointmill_ros {

inline const char* name_of_fix(uint32_t status) {
  static const char* const names[] = {"tracked", "found", "rejected", "lost"};
  return status < std::size(names) ? names[status] : "unknown";
}

inline const char* name_of_rejection(uint32_t rejection) {
  static const char* const names[] = {"too few points", "outside of the map", "not converged",
                                      "low likelihood", "far from the prediction", "unexplained",
                                      "contradicted", "ambiguous", "none"};
  return rejection < std::size(names) ? names[rejection] : "unknown";
}

class LocalizationNode : public Node {
 public:
  explicit LocalizationNode(const rclcpp::NodeOptions& options)
      : Node("localization_node", options),
        map_frame_(declare_parameter<std::string>("map_frame", "map")),
        odom_frame_(declare_parameter<std::string>("odom_frame", "")) {
    const auto path = declare_parameter<std::string>("map", "");
    if (path.empty()) throw std::runtime_error("map: expected a file, got none; give map:=FILE");
    const auto map = value_or_throw(
        pointmill::NdtMap::load(stream_, path, declare_parameter<double>("resolution", 0.0)));
    auto params = pointmill::defaults(pointmill_localizer_params_init);
    params.min_range = declare_parameter<double>("min_range", params.min_range);
    params.max_range = declare_parameter<double>("max_range", params.max_range);
    params.min_nvtl = declare_parameter<double>("min_nvtl", params.min_nvtl);
    params.max_distance = declare_parameter<double>("max_distance", params.max_distance);
    params.search_radius = declare_parameter<double>("search_radius", params.search_radius);
    const auto region = declare_parameter<std::vector<double>>("search_region", std::vector<double>());
    if (!region.empty() && region.size() != 4) {
      throw std::runtime_error("search_region: expected least x and y, then largest, got " +
                               std::to_string(region.size()) + " numbers");
    }
    params.has_region = region.empty() ? 0 : 1;
    for (size_t i = 0; i < region.size(); i++) params.region[i] = region[i];
    localizer_.emplace(value_or_throw(pointmill::Localizer::create(stream_, map, &params)));
    RCLCPP_INFO(get_logger(), "%s: %lu cells", path.c_str(), static_cast<unsigned long>(map.size()));
    pose_publisher_ = create_publisher<Pose>("pose", rclcpp::QoS(10));
    initial_ = create_subscription<Pose>("/initialpose", rclcpp::QoS(1),
                                         [this](Pose::ConstSharedPtr pose) { on_initial_pose(*pose); });
    subscription_ = create_subscription<Cloud>("points", rclcpp::SensorDataQoS(),
                                               [this](Cloud::ConstSharedPtr cloud) { on_cloud(*cloud); });
  }

 private:
  using Pose = geometry_msgs::msg::PoseWithCovarianceStamped;

  void on_initial_pose(const Pose& pose) {
    if (!pose.header.frame_id.empty() && pose.header.frame_id != map_frame_) {
      RCLCPP_WARN(get_logger(), "/initialpose: expected the frame %s, got %s", map_frame_.c_str(),
                  pose.header.frame_id.c_str());
      return;
    }
    // It waits for a cloud, which says where the sensor is on the vehicle.
    start_ = of_message(pose.pose.pose.position, pose.pose.pose.orientation);
  }

  void on_cloud(const Cloud& cloud) {
    const auto& child = child_frame(cloud);
    const auto base_from_sensor = look_up(child, cloud.header.frame_id, rclcpp::Time(cloud.header.stamp));
    if (!base_from_sensor) return say(cloud, Diagnostic::ERROR, "no transform to " + child, {});
    const auto scan = read(cloud);
    if (!scan) return;
    if (start_) {
      const auto started = localizer_->start(compose(*start_, *base_from_sensor));
      start_.reset();
      if (!started) RCLCPP_WARN(get_logger(), "/initialpose: %s", started.error().message.c_str());
    }
    auto fix = localizer_->push(value_or_throw(scan->cloud()), seconds_of(cloud.header.stamp));
    if (!fix) return say(cloud, Diagnostic::ERROR, fix.error().message, {});
    const auto level = fix->is_fix != 0 ? Diagnostic::OK
                       : fix->status == POINTMILL_FIX_REJECTED ? Diagnostic::WARN : Diagnostic::ERROR;
    say(cloud, level, name_of_fix(fix->status),
        {{"rejection", name_of_rejection(fix->rejection)},
         {"nvtl", std::to_string(fix->nvtl)},
         {"margin", std::to_string(fix->margin)},
         {"rejections in succession", std::to_string(fix->rejections)}});
    if (fix->is_fix != 0) publish(cloud, *fix, *base_from_sensor);
  }

  void publish(const Cloud& cloud, const pointmill_fix& fix, const pointmill_pose& base_from_sensor) {
    const auto& sensor = fix.map_from_sensor;
    const auto at = compose(sensor, inverse(base_from_sensor));
    Pose message;
    message.header.frame_id = map_frame_;
    message.header.stamp = cloud.header.stamp;
    message.pose.pose = pose_message(at);
    const std::array<double, 3> lever = {at.m[3] - sensor.m[3], at.m[7] - sensor.m[7], at.m[11] - sensor.m[11]};
    message.pose.covariance =
        fix.has_covariance != 0
            ? covariance_at(fix.covariance, lever, turns_of_angles(sensor), pointmill::identity())
            : unknown();
    pose_publisher_->publish(message);
    if (!publish_tf_) return;
    const auto& child = child_frame(cloud);
    if (odom_frame_.empty()) return send(map_frame_, child, message.header.stamp, at);
    const auto odom = look_up(odom_frame_, child, rclcpp::Time(cloud.header.stamp));
    if (odom) send(map_frame_, odom_frame_, message.header.stamp, compose(at, inverse(*odom)));
  }

  std::string map_frame_, odom_frame_;
  std::optional<pointmill::Localizer> localizer_;
  std::optional<pointmill_pose> start_;
  rclcpp::Publisher<Pose>::SharedPtr pose_publisher_;
  rclcpp::Subscription<Pose>::SharedPtr initial_;
  rclcpp::Subscription<Cloud>::SharedPtr subscription_;
};

}  // namespace pointmill_ros
