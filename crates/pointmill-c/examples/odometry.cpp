// A drive through a street that it makes, as poses and as voxels of its last sweep: odometry [DEVICE].
#include <pointmill.hpp>

#include <cmath>
#include <cstdio>

namespace {

int failed(const pointmill::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

// A floor, two walls and panels across, seen from `x`.
std::vector<float> street(double x) {
  std::vector<float> points;
  const auto add = [&](double a, double b, double c) {
    for (const double value : {a - x, b, c}) points.push_back(static_cast<float>(value));
  };
  for (int i = 0; i < 160; i++) {
    for (int j = 0; j < 60; j++) {
      const double along = 0.25 * i - 20.0;
      add(along, 0.25 * j - 7.5, -1.5);
      add(along, j % 2 == 0 ? 7.5 : -7.5, 0.1 * j - 1.5);
      add(6.1 * (i % 7) - 18.0, (i % 2 == 0 ? 4.0 : -6.0) + 0.1 * (i / 7), 0.1 * j - 1.5);
    }
  }
  return points;
}

}  // namespace

int main(int argc, char** argv) {
  auto stream = pointmill::stream(argc > 1 ? argv[1] : "auto");
  if (!stream) return failed(stream.error());
  auto odometry = pointmill::Odometry::create(*stream);
  auto voxelizer = pointmill::Voxelizer::create(*stream);
  if (!odometry || !voxelizer) return failed(odometry ? voxelizer.error() : odometry.error());
  for (int sweep = 0; sweep < 6; sweep++) {
    const auto seen = street(0.3 * sweep);
    const auto points = pointmill::array(seen.data(), seen.size() / 3, 3);
    auto step = odometry->push(points);
    if (!step) return failed(step.error());
    const double x = step->world_from_sensor.m[3];
    std::printf("x %.3f, status %u\n", x, step->status);
    if (step->status > POINTMILL_SWEEP_TRACKED || std::fabs(x - 0.3 * sweep) > 0.05) return 1;
    if (auto done = voxelizer->run(points); !done) return failed(done.error());
  }
  auto coords = voxelizer->coords();
  auto num_points = voxelizer->num_points();
  if (!coords || !num_points) return failed(coords ? num_points.error() : coords.error());
  return num_points->empty() || coords->size() != 3 * num_points->size() ? 1 : 0;
}
