// A stand-in for tf2_ros.
#pragma once
#include <rclcpp/rclcpp.hpp>

namespace tf2_ros {
struct TransformBroadcaster {
  explicit TransformBroadcaster(rclcpp::Node&) {}
  void sendTransform(const geometry_msgs::msg::TransformStamped& sent) { stand_in::published["/tf"].push_back(sent); }
};
}  // namespace tf2_ros
