// A ROS 2 node that counts the voxels of each PointCloud2. It is built with colcon where ROS 2 is; the
// checks of pointmill compile it against the stand-ins beside it.
#include <pointmill.hpp>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/point_cloud2.hpp>

#include <memory>
#include <vector>

class VoxelizeNode : public rclcpp::Node {
 public:
  using Cloud = sensor_msgs::msg::PointCloud2;

  VoxelizeNode(pointmill::Handle<pointmill_stream> stream, pointmill::Handle<pointmill_voxelizer> voxelizer)
      : Node("pointmill_voxelize"), stream_(std::move(stream)), voxelizer_(std::move(voxelizer)) {
    subscription_ = create_subscription<Cloud>("points", rclcpp::SensorDataQoS(),
                                               [this](const Cloud::ConstSharedPtr cloud) { on_cloud(*cloud); });
  }

 private:
  void on_cloud(const Cloud& cloud) {
    auto view = pointmill::sized<pointmill_cloud>();
    view.data = cloud.data.data();
    view.points = static_cast<uint64_t>(cloud.width) * cloud.height;
    view.point_step = cloud.point_step;
    // x, y, z and intensity, wherever they are; the numbers of types are those of PointField.
    for (const char* name : {"x", "y", "z", "intensity"}) {
      for (const auto& field : cloud.fields) {
        if (field.name == name) view.fields[view.num_fields++] = {field.offset, field.datatype};
      }
    }
    rows_.resize(view.points * view.num_fields);
    auto points = pointmill::sized<pointmill_array>();
    auto done = pointmill::checked(pointmill_cloud_rows(&view, rows_.data(), rows_.size(), &points));
    if (done) done = pointmill::checked(pointmill_voxelizer_run(voxelizer_.get(), &points, nullptr, 0));
    if (!done) {
      RCLCPP_ERROR(get_logger(), "%s", done.error().message.c_str());
      return;
    }
    const auto counts = pointmill::read<uint32_t>(pointmill_voxelizer_array, voxelizer_, "counts");
    if (counts) RCLCPP_INFO(get_logger(), "%u voxels", counts.value()[0]);
  }

  pointmill::Handle<pointmill_stream> stream_;
  pointmill::Handle<pointmill_voxelizer> voxelizer_;
  std::vector<float> rows_;
  rclcpp::Subscription<Cloud>::SharedPtr subscription_;
};

int main(int argc, char** argv) {
  rclcpp::init(argc, argv);
  auto stream = pointmill::make<pointmill_stream>(pointmill_stream_create, "auto");
  if (!stream) return 1;
  auto voxelizer = pointmill::make<pointmill_voxelizer>(pointmill_voxelizer_create, stream->get(), nullptr);
  if (!voxelizer) return 1;
  rclcpp::spin(std::make_shared<VoxelizeNode>(std::move(*stream), std::move(*voxelizer)));
  rclcpp::shutdown();
  return 0;
}
