// A stand-in for rclcpp: what a node publishes is kept, and a test hands messages to its subscriptions.
#pragma once
#include <messages.hpp>

#include <any>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#define STAND_IN_LOG(logger, ...) \
  (static_cast<void>(logger), std::fprintf(stderr, __VA_ARGS__), std::fputc('\n', stderr))
#define RCLCPP_INFO(logger, ...) STAND_IN_LOG(logger, __VA_ARGS__)
#define RCLCPP_WARN(logger, ...) STAND_IN_LOG(logger, __VA_ARGS__)
#define RCLCPP_ERROR(logger, ...) STAND_IN_LOG(logger, __VA_ARGS__)

/// What a test sees of the graph.
namespace stand_in {
inline std::map<std::string, std::vector<std::any>> published;
inline std::map<std::string, std::any> subscribed, services;

template <class M>
std::vector<M> sent(const std::string& topic) {
  std::vector<M> all;
  for (const auto& one : published[topic]) all.push_back(std::any_cast<M>(one));
  return all;
}
template <class M>
void send(const std::string& topic, const M& message) {
  const auto& call = subscribed.at(topic);
  std::any_cast<const std::function<void(typename M::ConstSharedPtr)>&>(call)(std::make_shared<const M>(message));
}
template <class S>
typename S::Response call(const std::string& service) {
  using Call = std::function<void(std::shared_ptr<typename S::Request>, std::shared_ptr<typename S::Response>)>;
  auto response = std::make_shared<typename S::Response>();
  std::any_cast<const Call&>(services.at(service))(std::make_shared<typename S::Request>(), response);
  return *response;
}
}  // namespace stand_in

namespace rclcpp {
struct QoS {
  explicit QoS(size_t) {}
  QoS& transient_local() { return *this; }
};
struct SensorDataQoS : QoS {
  SensorDataQoS() : QoS(5) {}
};
struct Logger {};
inline Logger get_logger(const std::string&) { return {}; }
struct Time {
  explicit Time(const builtin_interfaces::msg::Time&) {}
};
struct Duration {
  static Duration from_seconds(double) { return {}; }
};
struct Clock {
  using SharedPtr = std::shared_ptr<Clock>;
};
template <class M>
struct Publisher {
  using SharedPtr = std::shared_ptr<Publisher>;
  std::string topic;
  void publish(const M& message) { stand_in::published[topic].push_back(message); }
};
template <class M>
struct Subscription {
  using SharedPtr = std::shared_ptr<Subscription>;
};
template <class S>
struct Service {
  using SharedPtr = std::shared_ptr<Service>;
};
struct NodeOptions {
  std::map<std::string, std::any> overrides;
  template <class T>
  NodeOptions& append_parameter_override(const std::string& name, const T& value) {
    overrides[name] = value;
    return *this;
  }
};
class Node {
 public:
  Node(const std::string& name, const NodeOptions& options) : name_(name), options_(options) {}
  const char* get_name() const { return name_.c_str(); }
  Logger get_logger() const { return {}; }
  Clock::SharedPtr get_clock() { return std::make_shared<Clock>(); }
  template <class T>
  T declare_parameter(const std::string& name, const T& value) {
    const auto given = options_.overrides.find(name);
    return given == options_.overrides.end() ? value : std::any_cast<T>(given->second);
  }
  template <class M>
  typename Publisher<M>::SharedPtr create_publisher(const std::string& topic, const QoS&) {
    return std::make_shared<Publisher<M>>(Publisher<M>{topic});
  }
  template <class M, class F>
  typename Subscription<M>::SharedPtr create_subscription(const std::string& topic, const QoS&, F call) {
    stand_in::subscribed[topic] = std::function<void(typename M::ConstSharedPtr)>(call);
    return std::make_shared<Subscription<M>>();
  }
  template <class S, class F>
  typename Service<S>::SharedPtr create_service(const std::string& name, F call) {
    using Call = std::function<void(std::shared_ptr<typename S::Request>, std::shared_ptr<typename S::Response>)>;
    stand_in::services[name] = Call(call);
    return std::make_shared<Service<S>>();
  }

 private:
  std::string name_;
  NodeOptions options_;
};
inline void init(int, char**) {}
inline void shutdown() {}
template <class N>
void spin(const std::shared_ptr<N>&) {}
}  // namespace rclcpp
