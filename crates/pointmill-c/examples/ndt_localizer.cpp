// A scan against a map of normal distributions, as Autoware's ndt_scan_matcher does: tiles are added and
// taken away, and several guesses are aligned in one call.
#include <pointmill.hpp>

#include <array>
#include <cmath>
#include <cstdio>

namespace {

int failed(const pointmill::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

// A floor and walls, seen from `x`.
std::vector<float> street(double x, int step) {
  std::vector<float> points;
  for (int i = 0; i < 200; i += step) {
    for (int j = 0; j < 100; j++) {
      const double a = 0.2 * i, b = 0.2 * j;
      for (const auto& p : {std::array<double, 3>{a, b, 0.02 * std::sin(a)}, {a, 0.3 * std::sin(0.5 * a), 0.1 * j},
                            {7.0 * (i % 6), b, 0.05 * (i % 60)}}) {
        points.push_back(static_cast<float>(p[0] - x));
        points.push_back(static_cast<float>(p[1]));
        points.push_back(static_cast<float>(p[2]));
      }
    }
  }
  return points;
}

}  // namespace

int main(int argc, char** argv) {
  auto stream = pointmill::make<pointmill_stream>(pointmill_stream_create, argc > 1 ? argv[1] : "auto");
  if (!stream) return failed(stream.error());
  auto map = pointmill::make<pointmill_ndt_moments>(pointmill_ndt_moments_create, 2.0, nullptr);
  auto tile = pointmill::make<pointmill_ndt_moments>(pointmill_ndt_moments_create, 2.0, nullptr);
  if (!map || !tile) return failed(map ? tile.error() : map.error());

  const std::vector<float> near = street(0.0, 1), far = street(100.0, 1), seen = street(0.4, 3);
  const auto points = pointmill::array(near.data(), near.size() / 3, 3);
  const auto others = pointmill::array(far.data(), far.size() / 3, 3);
  for (const auto status :
       {pointmill_ndt_moments_add(map->get(), &points), pointmill_ndt_moments_add(tile->get(), &others),
        pointmill_ndt_moments_merge(map->get(), tile->get()), pointmill_ndt_moments_subtract(map->get(), tile->get())}) {
    if (auto done = pointmill::checked(status); !done) return failed(done.error());
  }
  auto grid = pointmill::make<pointmill_ndt_grid>(pointmill_ndt_grid_create, stream->get(), map->get(), nullptr);
  if (!grid) return failed(grid.error());

  pointmill_pose guesses[2] = {};
  for (auto& guess : guesses) guess.m[0] = guess.m[5] = guess.m[10] = guess.m[15] = 1.0;
  guesses[1].m[3] = 0.5;
  pointmill_registration found[2] = {pointmill::sized<pointmill_registration>(),
                                     pointmill::sized<pointmill_registration>()};
  const auto scan = pointmill::array(seen.data(), seen.size() / 3, 3);
  const auto aligned = pointmill::checked(pointmill_ndt_grid_align(grid->get(), &scan, guesses, 2, nullptr, found));
  if (!aligned) return failed(aligned.error());
  for (const auto& one : found) {
    std::printf("x %.3f, nvtl %.3f, %s\n", one.target_from_source.m[3], one.nvtl,
                one.converged != 0 ? "converged" : "not converged");
    if (one.converged == 0 || std::fabs(one.target_from_source.m[3] - 0.4) > 0.05) return 1;
  }
  return 0;
}
