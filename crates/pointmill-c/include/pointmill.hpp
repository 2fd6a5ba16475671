// pointmill for C++17, header-only over pointmill.h: handles that destroy themselves, and results that
// hold a value or an error. Nothing throws.
#ifndef POINTMILL_HPP
#define POINTMILL_HPP

#include "pointmill.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace pointmill {

/// Why a call failed.
struct Error {
  pointmill_status status = POINTMILL_OK;
  std::string message, argument, expected, got;

  /// What the last call of this thread says that failed.
  static Error last(pointmill_status status) {
    return {status, pointmill_last_message(), pointmill_last_argument(), pointmill_last_expected(),
            pointmill_last_got()};
  }
};

/// A value or an error, as `tl::expected`.
template <class T>
class Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return held_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return std::get<0>(held_); }
  T&& value() && { return std::get<0>(std::move(held_)); }
  const T& value() const& { return std::get<0>(held_); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const Error& error() const { return std::get<1>(held_); }

 private:
  std::variant<T, Error> held_;
};

/// Whether a call went well, and if not, why.
using Status = Result<std::monostate>;

inline Status checked(pointmill_status status) {
  return status == POINTMILL_OK ? Status(std::monostate{}) : Status(Error::last(status));
}

/// A struct of the header with its size, and zeros.
template <class T>
T sized() {
  T value{};
  value.struct_size = sizeof(T);
  return value;
}

/// The destructor of each handle type.
template <class T>
struct Destroy;

#define POINTMILL_HANDLE(type)                              \
  template <>                                               \
  struct Destroy<pointmill_##type> {                        \
    void operator()(pointmill_##type* handle) const {       \
      pointmill_##type##_destroy(handle);                   \
    }                                                       \
  };
POINTMILL_HANDLE(stream)
POINTMILL_HANDLE(graph)
POINTMILL_HANDLE(voxelizer)
POINTMILL_HANDLE(grid_sampler)
POINTMILL_HANDLE(serializer)
POINTMILL_HANDLE(pooler)
POINTMILL_HANDLE(index_pairs)
POINTMILL_HANDLE(densifier)
POINTMILL_HANDLE(pillar_encoder)
POINTMILL_HANDLE(box_iou)
POINTMILL_HANDLE(worker)
POINTMILL_HANDLE(roi_pooler)
POINTMILL_HANDLE(points_in_boxes)
POINTMILL_HANDLE(ndt_moments)
POINTMILL_HANDLE(ndt_grid)
POINTMILL_HANDLE(icp_target)
POINTMILL_HANDLE(register_target)
POINTMILL_HANDLE(odometry)
POINTMILL_HANDLE(localizer)
#undef POINTMILL_HANDLE

/// A handle that is destroyed with its owner. `get()` is what functions of pointmill.h take.
template <class T>
using Handle = std::unique_ptr<T, Destroy<T>>;

/// A handle from a function that makes one: its arguments, without the last.
///
///     auto stream = pointmill::make<pointmill_stream>(pointmill_stream_create, "cpu");
template <class T, class Make, class... Args>
Result<Handle<T>> make(Make create, Args&&... args) {
  T* raw = nullptr;
  const pointmill_status status = create(std::forward<Args>(args)..., &raw);
  if (status != POINTMILL_OK) return Error::last(status);
  return Handle<T>(raw);
}

/// Parameters with the defaults of the library: `defaults(pointmill_icp_params_init)`.
template <class T>
T defaults(pointmill_status (*init)(T*)) {
  T params{};
  (void)init(&params);
  return params;
}

template <class T>
constexpr uint32_t type_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>) return POINTMILL_F32;
  else if constexpr (std::is_same_v<U, double>) return POINTMILL_F64;
  else if constexpr (std::is_same_v<U, int32_t>) return POINTMILL_I32;
  else if constexpr (std::is_same_v<U, uint32_t>) return POINTMILL_U32;
  else if constexpr (std::is_same_v<U, int64_t>) return POINTMILL_I64;
  else if constexpr (std::is_same_v<U, uint64_t>) return POINTMILL_U64;
  else static_assert(std::is_same_v<U, float>, "a type that no array has");
}

/// Rows of values, on the host or, with POINTMILL_DEVICE_MEMORY, on a GPU.
template <class T>
pointmill_array array(T* data, uint64_t rows, uint64_t columns, uint32_t place = POINTMILL_HOST) {
  auto made = sized<pointmill_array>();
  made.data = const_cast<std::remove_cv_t<T>*>(data);
  made.rows = rows;
  made.columns = columns;
  made.type = type_of<T>();
  made.place = place;
  return made;
}

/// A view of an array of a result: `view(pointmill_voxelizer_array, voxelizer, "coords")`.
template <class Get, class T>
Result<pointmill_array> view(Get get, const Handle<T>& handle, const char* name) {
  auto made = sized<pointmill_array>();
  const pointmill_status status = get(handle.get(), name, &made);
  if (status != POINTMILL_OK) return Error::last(status);
  return made;
}

/// A copy of an array of a result on the host. On a GPU it waits.
template <class V, class Get, class T>
Result<std::vector<V>> read(Get get, const Handle<T>& handle, const char* name) {
  auto shape = view(get, handle, name);
  if (!shape) return shape.error();
  std::vector<V> values(static_cast<size_t>(shape->rows * shape->columns));
  if (values.empty()) return values;
  auto out = array(values.data(), shape->rows, shape->columns);
  const pointmill_status status = get(handle.get(), name, &out);
  if (status != POINTMILL_OK) return Error::last(status);
  return values;
}

using Stream = Handle<pointmill_stream>;

/// A stream on a device, such as "auto", "cpu" or "cuda:0".
inline Result<Stream> stream(const char* device = "auto") {
  return make<pointmill_stream>(pointmill_stream_create, device);
}

/// A struct of the header that a call fills.
template <class T, class Call>
Result<T> filled(Call call) {
  auto out = sized<T>();
  const pointmill_status status = call(&out);
  if (status != POINTMILL_OK) return Error::last(status);
  return out;
}

/// The pose that moves nothing.
inline pointmill_pose identity() { return {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}}; }

/// A handle that a class keeps.
template <class T>
class Owner {
 public:
  explicit Owner(Handle<T> handle) : handle_(std::move(handle)) {}
  T* get() const { return handle_.get(); }

 protected:
  Handle<T> handle_;
};

/// Voxels of one cloud after another, on the host, cut to their number.
class Voxelizer : public Owner<pointmill_voxelizer> {
 public:
  using Owner::Owner;
  static Result<Voxelizer> create(const Stream& stream, const pointmill_voxelize_params* params = nullptr) {
    auto made = make<pointmill_voxelizer>(pointmill_voxelizer_create, stream.get(), params);
    if (!made) return made.error();
    return Voxelizer(std::move(*made));
  }
  Status run(const pointmill_array& points) {
    return checked(pointmill_voxelizer_run(get(), &points, nullptr, 0));
  }
  /// z, y, x of each voxel.
  Result<std::vector<int32_t>> coords() const { return cut<int32_t>("coords"); }
  Result<std::vector<int32_t>> num_points() const { return cut<int32_t>("num_points"); }
  Result<std::vector<float>> mean() const { return cut<float>("mean"); }
  Result<std::vector<float>> voxels() const { return cut<float>("voxels"); }

 private:
  template <class V>
  Result<std::vector<V>> cut(const char* name) const {
    auto counts = read<uint32_t>(pointmill_voxelizer_array, handle_, "counts");
    if (!counts) return counts.error();
    auto shape = view(pointmill_voxelizer_array, handle_, name);
    if (!shape) return shape.error();
    auto values = read<V>(pointmill_voxelizer_array, handle_, name);
    if (values && (*counts)[0] < shape->rows) values->resize(static_cast<size_t>((*counts)[0] * shape->columns));
    return values;
  }
};

/// A target that sources are aligned to.
class Icp : public Owner<pointmill_icp_target> {
 public:
  using Owner::Owner;
  static Result<Icp> create(const Stream& stream, const pointmill_array& target,
                            const pointmill_icp_params* params = nullptr) {
    auto made = make<pointmill_icp_target>(pointmill_icp_target_create, stream.get(), &target, params);
    if (!made) return made.error();
    return Icp(std::move(*made));
  }
  Result<pointmill_registration> align(const pointmill_array& source,
                                       const pointmill_pose& guess = identity()) const {
    return filled<pointmill_registration>(
        [&](auto* out) { return pointmill_icp_target_align(get(), &source, &guess, out); });
  }
};

/// A trajectory from sweeps.
class Odometry : public Owner<pointmill_odometry> {
 public:
  using Owner::Owner;
  static Result<Odometry> create(const Stream& stream, const pointmill_odometry_params* params = nullptr) {
    auto made = make<pointmill_odometry>(pointmill_odometry_create, stream.get(), params);
    if (!made) return made.error();
    return Odometry(std::move(*made));
  }
  Result<pointmill_step> push(const pointmill_array& points, const pointmill_array* times = nullptr) {
    return filled<pointmill_step>([&](auto* out) { return pointmill_odometry_push(get(), &points, times, out); });
  }
};

/// Where a sensor is in a map.
class Localizer : public Owner<pointmill_localizer> {
 public:
  using Owner::Owner;
  static Result<Localizer> create(const Stream& stream, const Handle<pointmill_ndt_grid>& grid,
                                  const pointmill_localizer_params* params = nullptr) {
    auto made = make<pointmill_localizer>(pointmill_localizer_create, stream.get(), grid.get(), params);
    if (!made) return made.error();
    return Localizer(std::move(*made));
  }
  Status start(const pointmill_pose& pose) { return checked(pointmill_localizer_start(get(), &pose)); }
  /// `seconds` is NaN where the time of the scan is not known.
  Result<pointmill_fix> push(const pointmill_array& points, double seconds) {
    return filled<pointmill_fix>([&](auto* out) { return pointmill_localizer_push(get(), &points, seconds, out); });
  }
};

}  // namespace pointmill

#endif
