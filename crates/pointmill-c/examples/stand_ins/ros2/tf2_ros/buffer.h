// A stand-in for tf2_ros: a test says which transforms there are.
#pragma once
#include <rclcpp/rclcpp.hpp>
#include <tf2/exceptions.h>

namespace stand_in {
inline std::map<std::pair<std::string, std::string>, geometry_msgs::msg::Transform> transforms;
}  // namespace stand_in

namespace tf2_ros {
struct Buffer {
  explicit Buffer(rclcpp::Clock::SharedPtr) {}
  geometry_msgs::msg::TransformStamped lookupTransform(const std::string& to, const std::string& from,
                                                       const rclcpp::Time&, const rclcpp::Duration&) const {
    const auto found = stand_in::transforms.find({to, from});
    if (found == stand_in::transforms.end()) throw tf2::TransformException(to + " is not connected to " + from);
    geometry_msgs::msg::TransformStamped made;
    made.transform = found->second;
    return made;
  }
};
}  // namespace tf2_ros
