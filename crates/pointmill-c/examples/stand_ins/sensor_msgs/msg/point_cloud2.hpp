// A stand-in for sensor_msgs: the fields that the example reads.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sensor_msgs::msg {
struct PointField {
  std::string name;
  uint32_t offset = 0;
  uint8_t datatype = 0;
  uint32_t count = 1;
};
struct PointCloud2 {
  using ConstSharedPtr = std::shared_ptr<const PointCloud2>;
  uint32_t height = 0, width = 0;
  std::vector<PointField> fields;
  bool is_bigendian = false;
  uint32_t point_step = 0, row_step = 0;
  std::vector<uint8_t> data;
};
}  // namespace sensor_msgs::msg
