// A stand-in for tf2.
#pragma once
#include <stdexcept>

namespace tf2 {
struct TransformException : std::runtime_error {
  using std::runtime_error::runtime_error;
};
}  // namespace tf2
