// A stand-in for rclcpp: a node whose subscription gets one message.
#pragma once
#include <sensor_msgs/msg/point_cloud2.hpp>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#define RCLCPP_INFO(logger, ...) (static_cast<void>(logger), std::printf(__VA_ARGS__), std::printf("\n"))
#define RCLCPP_ERROR(logger, ...) (static_cast<void>(logger), std::fprintf(stderr, __VA_ARGS__))

namespace rclcpp {
struct SensorDataQoS {};
struct Logger {};
template <class M>
struct Subscription {
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(typename M::ConstSharedPtr)> call;
};
inline std::function<void(sensor_msgs::msg::PointCloud2::ConstSharedPtr)> last;
class Node {
 public:
  explicit Node(const std::string&) {}
  Logger get_logger() const { return {}; }
  template <class M, class F>
  typename Subscription<M>::SharedPtr create_subscription(const std::string&, SensorDataQoS, F call) {
    last = call;
    return std::make_shared<Subscription<M>>(Subscription<M>{call});
  }
};
inline void init(int, char**) {}
inline void shutdown() {}
/// Gives the node one cloud of two points of XYZIRC.
template <class N>
void spin(const std::shared_ptr<N>&) {
  auto cloud = std::make_shared<sensor_msgs::msg::PointCloud2>();
  cloud->height = 1;
  cloud->width = 2;
  cloud->point_step = 16;
  cloud->fields = {{"x", 0, 7, 1}, {"y", 4, 7, 1}, {"z", 8, 7, 1}, {"intensity", 12, 2, 1}};
  cloud->data.resize(32);
  last(cloud);
}
}  // namespace rclcpp
