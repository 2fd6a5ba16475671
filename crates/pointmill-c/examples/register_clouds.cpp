// Two clouds without a guess: the pose between them, refined from there, and a verdict: register_clouds [DEVICE].
#include "street.hpp"

int main(int argc, char** argv) {
  auto stream = pointmill::stream(argc > 1 ? argv[1] : "auto");
  if (!stream) return failed(stream.error());

  // The source is the target turned by 70 degrees and moved.
  const double angle = 70.0 * 3.14159265358979323846 / 180.0, c = std::cos(angle), s = std::sin(angle);
  const double moved[3] = {5.0, -3.0, 0.4};
  const auto target = street(0.0);
  auto source = target;
  for (size_t i = 0; i < source.size(); i += 3) {
    const double x = target[i] - moved[0], y = target[i + 1] - moved[1];
    source[i] = static_cast<float>(c * x + s * y);
    source[i + 1] = static_cast<float>(c * y - s * x);
    source[i + 2] = static_cast<float>(target[i + 2] - moved[2]);
  }

  auto params = pointmill::defaults(pointmill_register_params_init);
  auto global = pointmill::Register::create(*stream, rows(target), &params);
  if (!global) return failed(global.error());
  auto found = global->find(rows(source));
  if (!found) return failed(found.error());
  const auto& pose = found->target_from_source.m;
  std::printf("x %.3f, y %.3f, z %.3f, verdict %u\n", pose[3], pose[7], pose[11], found->verdict);
  if (found->verdict != POINTMILL_FOUND) return failed("not found");

  auto icp = pointmill::Icp::create(*stream, rows(target));
  if (!icp) return failed(icp.error());
  auto refined = icp->align(rows(source), found->target_from_source);
  if (!refined) return failed(refined.error());
  const auto& at = refined->target_from_source.m;
  std::printf("refined x %.4f, y %.4f, z %.4f, %.4f m\n", at[3], at[7], at[11], refined->inlier_rmse);
  const double off[5] = {at[3] - moved[0], at[7] - moved[1], at[11] - moved[2], at[0] - c, at[4] - s};
  for (const double one : off) {
    if (std::fabs(one) > 0.01) return failed("another pose");
  }
  return refined->converged != 0 ? 0 : failed("not converged");
}
