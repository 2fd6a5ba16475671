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
POINTMILL_HANDLE(scan)
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

/// A pose that moves along x, y, z.
inline pointmill_pose translation(double x, double y, double z) {
  return {{1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, z, 0, 0, 0, 1}};
}

/// A handle that a class keeps.
template <class T>
class Owner {
 public:
  explicit Owner(Handle<T> handle) : handle_(std::move(handle)) {}
  T* get() const { return handle_.get(); }

 protected:
  /// A class around the handle that a function makes.
  template <class Class, class Make, class... Args>
  static Result<Class> own(Make create, Args&&... args) {
    auto made = make<T>(create, std::forward<Args>(args)...);
    if (!made) return made.error();
    return Class(std::move(*made));
  }
  Handle<T> handle_;
};

/// Voxels of one cloud after another, on the host, cut to their number.
class Voxelizer : public Owner<pointmill_voxelizer> {
 public:
  using Owner::Owner;
  static Result<Voxelizer> create(const Stream& stream, const pointmill_voxelize_params* params = nullptr) {
    return own<Voxelizer>(pointmill_voxelizer_create, stream.get(), params);
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
    return own<Icp>(pointmill_icp_target_create, stream.get(), &target, params);
  }
  Result<pointmill_registration> align(const pointmill_array& source,
                                       const pointmill_pose& guess = identity()) const {
    return filled<pointmill_registration>(
        [&](auto* out) { return pointmill_icp_target_align(get(), &source, &guess, out); });
  }
};

/// A target that sources are registered to without a guess.
class Register : public Owner<pointmill_register_target> {
 public:
  using Owner::Owner;
  static Result<Register> create(const Stream& stream, const pointmill_array& target,
                                 const pointmill_register_params* params = nullptr) {
    return own<Register>(pointmill_register_target_create, stream.get(), &target, params);
  }
  /// The pose is an answer where the verdict is POINTMILL_FOUND.
  Result<pointmill_registered> find(const pointmill_array& source) const {
    return filled<pointmill_registered>(
        [&](auto* out) { return pointmill_register_target_register(get(), &source, out); });
  }
};

/// Sums over the points of each cell. Tiles are added, and taken away again.
class NdtMoments : public Owner<pointmill_ndt_moments> {
 public:
  using Owner::Owner;
  static Result<NdtMoments> create(double resolution, const double (*origin)[3] = nullptr) {
    return own<NdtMoments>(pointmill_ndt_moments_create, resolution, origin);
  }
  static Result<NdtMoments> load(const std::string& path) {
    return own<NdtMoments>(pointmill_ndt_moments_load, path.c_str());
  }
  Status save(const std::string& path) const { return checked(pointmill_ndt_moments_save(get(), path.c_str())); }
  Status add(const pointmill_array& points) { return checked(pointmill_ndt_moments_add(get(), &points)); }
  Status merge(const NdtMoments& tile) { return checked(pointmill_ndt_moments_merge(get(), tile.get())); }
  Status subtract(const NdtMoments& tile) { return checked(pointmill_ndt_moments_subtract(get(), tile.get())); }
  /// The number of occupied cells.
  uint64_t size() const { return pointmill_ndt_moments_len(get()); }
};

/// How well a scan fits a map at a pose.
struct NdtFit {
  double transform_probability, nvtl, score, hits;
};

/// A map of normal distributions, to match scans against.
class NdtMap : public Owner<pointmill_ndt_grid> {
 public:
  using Owner::Owner;
  static Result<NdtMap> create(const Stream& stream, const NdtMoments& moments,
                               const pointmill_ndt_params* params = nullptr) {
    return own<NdtMap>(pointmill_ndt_grid_create, stream.get(), moments.get(), params);
  }
  /// Of a file of cells, of moments or of points. `resolution` 0 is that of the file, and 2 m of points.
  static Result<NdtMap> load(const Stream& stream, const std::string& path, double resolution = 0.0,
                             const pointmill_ndt_params* params = nullptr) {
    return own<NdtMap>(pointmill_ndt_grid_load, stream.get(), path.c_str(), resolution, params);
  }
  Status save(const std::string& path) const { return checked(pointmill_ndt_grid_save(get(), path.c_str())); }
  /// The number of cells.
  uint64_t size() const { return pointmill_ndt_grid_len(get()); }
  /// The poses near guesses at which the scan fits best.
  Result<std::vector<pointmill_registration>> align(const pointmill_array& scan,
                                                    const std::vector<pointmill_pose>& guesses,
                                                    const pointmill_ndt_align_params* params = nullptr) const {
    std::vector<pointmill_registration> found(guesses.size(), sized<pointmill_registration>());
    auto done = checked(pointmill_ndt_grid_align(get(), &scan, guesses.data(), guesses.size(), params, found.data()));
    if (!done) return done.error();
    return found;
  }
  /// How well the scan fits at each pose.
  Result<std::vector<NdtFit>> score(const pointmill_array& scan, const std::vector<pointmill_pose>& poses) const {
    std::vector<double> fits(4 * poses.size());
    auto done = checked(pointmill_ndt_grid_score(get(), &scan, poses.data(), poses.size(), fits.data()));
    if (!done) return done.error();
    std::vector<NdtFit> found;
    for (size_t i = 0; i < fits.size(); i += 4) found.push_back({fits[i], fits[i + 1], fits[i + 2], fits[i + 3]});
    return found;
  }
};

/// A cloud of a file or of a message.
class Scan : public Owner<pointmill_scan> {
 public:
  using Owner::Owner;
  static Result<Scan> load(const std::string& path) { return own<Scan>(pointmill_scan_read, path.c_str()); }
  static Result<Scan> of(const pointmill_message& message) { return own<Scan>(pointmill_scan_of_message, &message); }
  /// How many points there are, and what their times are counted from.
  Result<pointmill_scan_info> info() const {
    return filled<pointmill_scan_info>([&](auto* out) { return pointmill_scan_get_info(get(), out); });
  }
  /// Views, valid as long as the scan: what operators take, x, y, z first; all columns as f32; seconds of
  /// each point after the first, of no rows where there are none.
  Result<pointmill_array> cloud() const { return view(pointmill_scan_array, handle_, "cloud"); }
  Result<pointmill_array> points() const { return view(pointmill_scan_array, handle_, "points"); }
  Result<pointmill_array> times() const { return view(pointmill_scan_array, handle_, "times"); }
  std::vector<std::string> columns() const { return texts(pointmill_scan_column); }
  /// What is odd about the cloud.
  std::vector<std::string> warnings() const { return texts(pointmill_scan_warning); }

 private:
  std::vector<std::string> texts(const char* (*text)(const pointmill_scan*, uint64_t)) const {
    std::vector<std::string> all;
    while (const char* one = text(get(), all.size())) all.emplace_back(one);
    return all;
  }
};

/// A trajectory from sweeps.
class Odometry : public Owner<pointmill_odometry> {
 public:
  using Owner::Owner;
  static Result<Odometry> create(const Stream& stream, const pointmill_odometry_params* params = nullptr) {
    return own<Odometry>(pointmill_odometry_create, stream.get(), params);
  }
  Result<pointmill_step> push(const pointmill_array& points, const pointmill_array* times = nullptr) {
    return filled<pointmill_step>([&](auto* out) { return pointmill_odometry_push(get(), &points, times, out); });
  }
  /// The number of sweeps so far.
  uint64_t size() const { return pointmill_odometry_len(get()); }
  /// The sensor in the world at each sweep so far.
  Result<std::vector<pointmill_pose>> poses() const {
    auto values = read<double>(pointmill_odometry_array, handle_, "poses");
    if (!values) return values.error();
    std::vector<pointmill_pose> poses(values->size() / 16);
    for (size_t i = 0; i < values->size(); i++) poses[i / 16].m[i % 16] = (*values)[i];
    return poses;
  }
  /// The times that the poses belong to; NaN where points have none.
  Result<std::vector<double>> seconds() const { return read<double>(pointmill_odometry_array, handle_, "seconds"); }
  /// What became of each sweep, a pointmill_sweep_status.
  Result<std::vector<uint32_t>> status() const { return read<uint32_t>(pointmill_odometry_array, handle_, "status"); }
  /// x, y, z of the points of the map in the world.
  Result<std::vector<double>> map() const { return read<double>(pointmill_odometry_array, handle_, "map"); }
};

/// Where a sensor is in a map.
class Localizer : public Owner<pointmill_localizer> {
 public:
  using Owner::Owner;
  static Result<Localizer> create(const Stream& stream, const NdtMap& map,
                                  const pointmill_localizer_params* params = nullptr) {
    return own<Localizer>(pointmill_localizer_create, stream.get(), map.get(), params);
  }
  Status start(const pointmill_pose& pose) { return checked(pointmill_localizer_start(get(), &pose)); }
  /// `seconds` is NaN where the time of the scan is not known.
  Result<pointmill_fix> push(const pointmill_array& points, double seconds) {
    return filled<pointmill_fix>([&](auto* out) { return pointmill_localizer_push(get(), &points, seconds, out); });
  }
};

}  // namespace pointmill

#endif
