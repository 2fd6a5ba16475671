// What the examples see: a floor, two walls and panels across, no two alike.
#pragma once
#include <pointmill.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

inline int failed(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  return 1;
}

inline int failed(const pointmill::Error& error) { return failed(error.message.c_str()); }

/// x, y, z seen from `x` along the street.
inline std::vector<float> street(double x) {
  std::vector<float> points;
  const auto add = [&](double a, double b, double c) {
    for (const double value : {a - x, b, c}) points.push_back(static_cast<float>(value));
  };
  for (int i = 0; i < 160; i++) {
    for (int j = 0; j < 60; j++) {
      const double along = 0.25 * i - 20.0;
      add(along, 0.25 * j - 7.5, 0.02 * std::sin(along) - 1.5);
      add(along, (j % 2 == 0 ? 7.5 : -7.5) + 0.3 * std::sin(0.5 * along), 0.1 * j - 1.5);
      add(6.1 * (i % 7) - 18.0 + 0.7 * (i % 7 % 3), (i % 2 == 0 ? 4.0 : -6.0) + 0.1 * (i / 7), 0.1 * j - 1.5);
    }
  }
  return points;
}

inline pointmill_array rows(const std::vector<float>& points) {
  return pointmill::array(points.data(), points.size() / 3, 3);
}
