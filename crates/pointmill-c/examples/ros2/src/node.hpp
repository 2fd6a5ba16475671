// What the two nodes share: parameters, transforms and diagnostics.
#pragma once

#include "convert.hpp"

#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <geometry_msgs/msg/transform_stamped.hpp>
#include <rclcpp/rclcpp.hpp>
#include <tf2/exceptions.h>
#if __has_include(<tf2_ros/buffer.hpp>)
#include <tf2_ros/buffer.hpp>
#include <tf2_ros/transform_broadcaster.hpp>
#include <tf2_ros/transform_listener.hpp>
#else
#include <tf2_ros/buffer.h>
#include <tf2_ros/transform_broadcaster.h>
#include <tf2_ros/transform_listener.h>
#endif

#include <memory>
#include <optional>
#include <stdexcept>

namespace pointmill_ros {

/// The value of a result. A node that cannot begin ends with the message.
template <class T>
T value_or_throw(pointmill::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

class Node : public rclcpp::Node {
 protected:
  using Cloud = sensor_msgs::msg::PointCloud2;
  using Diagnostic = diagnostic_msgs::msg::DiagnosticStatus;

  Node(const std::string& name, const rclcpp::NodeOptions& options)
      : rclcpp::Node(name, options),
        stream_(value_or_throw(pointmill::stream(declare_parameter<std::string>("device", "auto").c_str()))),
        base_frame_(declare_parameter<std::string>("base_frame", "")),
        publish_tf_(declare_parameter<bool>("publish_tf", true)),
        timeout_(rclcpp::Duration::from_seconds(declare_parameter<double>("transform_timeout", 0.1))),
        buffer_(get_clock()),
        listener_(buffer_),
        broadcaster_(*this),
        diagnostics_(create_publisher<diagnostic_msgs::msg::DiagnosticArray>("/diagnostics", rclcpp::QoS(10))) {}

  /// The frame whose pose is published, of clouds in a frame.
  const std::string& child_frame(const Cloud& cloud) const {
    return base_frame_.empty() ? cloud.header.frame_id : base_frame_;
  }

  /// A transform at a time, waited for as it may come after the cloud; none with a warning without.
  std::optional<pointmill_pose> look_up(const std::string& to, const std::string& from, const rclcpp::Time& time) {
    if (to == from) return pointmill::identity();
    try {
      const auto found = buffer_.lookupTransform(to, from, time, timeout_).transform;
      return of_message(found.translation, found.rotation);
    } catch (const tf2::TransformException& missing) {
      RCLCPP_WARN(get_logger(), "no transform from %s to %s: %s", from.c_str(), to.c_str(), missing.what());
      return std::nullopt;
    }
  }

  /// The cloud of a message; none where it cannot be read, which the diagnostics say.
  std::optional<pointmill::Scan> read(const Cloud& cloud) {
    auto scan = scan_of(cloud);
    if (!scan) {
      say(cloud, Diagnostic::ERROR, scan.error().message, {});
      return std::nullopt;
    }
    for (const auto& warning : scan->warnings()) {
      if (!warned_) RCLCPP_WARN(get_logger(), "%s", warning.c_str());
    }
    warned_ = true;
    return std::move(*scan);
  }

  void send(const std::string& frame, const std::string& child, const builtin_interfaces::msg::Time& stamp,
            const pointmill_pose& pose) {
    geometry_msgs::msg::TransformStamped sent;
    sent.header.frame_id = frame;
    sent.header.stamp = stamp;
    sent.child_frame_id = child;
    sent.transform = transform_message(pose);
    broadcaster_.sendTransform(sent);
  }

  void say(const Cloud& cloud, unsigned char level, const std::string& message,
           const std::vector<std::pair<std::string, std::string>>& values) {
    Diagnostic status;
    status.level = level;
    status.name = get_name();
    status.message = message;
    status.hardware_id = cloud.header.frame_id;
    for (const auto& [key, value] : values) {
      diagnostic_msgs::msg::KeyValue pair;
      pair.key = key;
      pair.value = value;
      status.values.push_back(pair);
    }
    diagnostic_msgs::msg::DiagnosticArray array;
    array.header.stamp = cloud.header.stamp;
    array.status.push_back(status);
    diagnostics_->publish(array);
    if (level != Diagnostic::OK) RCLCPP_WARN(get_logger(), "%s", message.c_str());
  }

  pointmill::Stream stream_;
  std::string base_frame_;
  bool publish_tf_;

 private:
  rclcpp::Duration timeout_;
  bool warned_ = false;
  tf2_ros::Buffer buffer_;
  tf2_ros::TransformListener listener_;
  tf2_ros::TransformBroadcaster broadcaster_;
  rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr diagnostics_;
};

/// Runs a node until ROS ends it.
template <class N>
int run(int argc, char** argv) {
  rclcpp::init(argc, argv);
  int code = 0;
  try {
    rclcpp::spin(std::make_shared<N>(rclcpp::NodeOptions()));
  } catch (const std::exception& failure) {
    RCLCPP_ERROR(rclcpp::get_logger("pointmill"), "%s", failure.what());
    code = 1;
  }
  rclcpp::shutdown();
  return code;
}

}  // namespace pointmill_ros
