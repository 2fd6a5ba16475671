// A drive through a street that it makes, as poses, a map and voxels of its last sweep: odometry [DEVICE].
#include "street.hpp"

int main(int argc, char** argv) {
  auto stream = pointmill::stream(argc > 1 ? argv[1] : "auto");
  if (!stream) return failed(stream.error());
  auto odometry = pointmill::Odometry::create(*stream);
  auto voxelizer = pointmill::Voxelizer::create(*stream);
  if (!odometry || !voxelizer) return failed(odometry ? voxelizer.error() : odometry.error());
  for (int sweep = 0; sweep < 6; sweep++) {
    const auto seen = street(0.3 * sweep);
    auto step = odometry->push(rows(seen));
    if (!step) return failed(step.error());
    const double x = step->world_from_sensor.m[3];
    std::printf("x %.3f, status %u\n", x, step->status);
    if (step->status > POINTMILL_SWEEP_TRACKED || std::fabs(x - 0.3 * sweep) > 0.05) return failed("another pose");
    if (auto done = voxelizer->run(rows(seen)); !done) return failed(done.error());
  }
  auto poses = odometry->poses();
  auto map = odometry->map();
  if (!poses || !map) return failed(poses ? map.error() : poses.error());
  if (poses->size() != 6 || std::fabs(poses->back().m[3] - 1.5) > 0.05) return failed("another trajectory");
  std::printf("%zu points of the map\n", map->size() / 3);
  if (map->size() < 3000 || map->size() % 3 != 0) return failed("too small a map");
  auto coords = voxelizer->coords();
  auto num_points = voxelizer->num_points();
  if (!coords || !num_points) return failed(coords ? num_points.error() : coords.error());
  return num_points->empty() || coords->size() != 3 * num_points->size() ? failed("no voxels") : 0;
}
