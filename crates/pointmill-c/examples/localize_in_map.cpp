// A drive through a map that the program makes, saves and loads again: where the sensor is from a first pose,
// and that it says when it does not know: localize_in_map [DEVICE].
#include "street.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  auto stream = pointmill::stream(argc > 1 ? argv[1] : "auto");
  if (!stream) return failed(stream.error());

  // Two tiles, of which the second is taken away again.
  auto moments = pointmill::NdtMoments::create(2.0);
  auto tile = pointmill::NdtMoments::create(2.0);
  if (!moments || !tile) return failed(moments ? tile.error() : moments.error());
  const auto near = street(0.0), far = street(200.0);
  for (auto& done : {moments->add(rows(near)), tile->add(rows(far)), moments->merge(*tile), moments->subtract(*tile)}) {
    if (!done) return failed(done.error());
  }
  auto built = pointmill::NdtMap::create(*stream, *moments);
  if (!built) return failed(built.error());
  const char* folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/pointmill_localize_in_map.npz";
  if (auto saved = built->save(path); !saved) return failed(saved.error());
  auto map = pointmill::NdtMap::load(*stream, path);
  std::remove(path.c_str());
  if (!map) return failed(map.error());
  if (map->size() != built->size()) return failed("the map lost cells");

  // Several guesses in one call, as after a start that is known by and large.
  const auto first = street(0.3);
  auto aligned = map->align(rows(first), {pointmill::identity(), pointmill::translation(0.7, 0.1, 0.0)});
  if (!aligned) return failed(aligned.error());
  for (const auto& one : *aligned) {
    if (one.converged == 0 || std::fabs(one.target_from_source.m[3] - 0.3) > 0.05) return failed("not aligned");
  }

  auto localizer = pointmill::Localizer::create(*stream, *map);
  if (!localizer) return failed(localizer.error());
  if (auto done = localizer->start(aligned->front().target_from_source); !done) return failed(done.error());
  for (int i = 0; i < 6; i++) {
    const double x = 0.3 + 0.4 * i;
    const auto seen = street(x);
    auto fix = localizer->push(rows(seen), 0.1 * i);
    if (!fix) return failed(fix.error());
    std::printf("x %.3f, status %u, nvtl %.2f\n", fix->map_from_sensor.m[3], fix->status, fix->nvtl);
    if (fix->is_fix == 0 || std::fabs(fix->map_from_sensor.m[3] - x) > 0.1) return failed("not where it is");
  }

  // What the map does not have is no fix.
  auto elsewhere = street(0.0);
  for (size_t i = 0; i < elsewhere.size(); i += 3) elsewhere[i + 2] += 40.0f;
  auto fix = localizer->push(rows(elsewhere), 0.6);
  if (!fix) return failed(fix.error());
  std::printf("elsewhere: status %u, rejection %u\n", fix->status, fix->rejection);
  return fix->is_fix == 0 ? 0 : failed("a fix of a scan that is not in the map");
}
