#pragma once
/// The binding files share this: one bind_*() per topic, arrays that NumPy owns, names of enumerations. No
/// logic lives in this folder: a function here converts arguments, releases the GIL and calls the library.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <memory>
#include <vector>

#include "trellis/base/error.hpp"
#include "trellis/lattice/geometry.hpp"

namespace trellis::bindings {

namespace nb = nanobind;
using namespace nanobind::literals;

void bind_errors(nb::module_& m);
void bind_interruption(nb::module_& m);
void bind_machine(nb::module_& m);
void bind_tuner(nb::module_& m);
void bind_lattice(nb::module_& m);
void bind_gauge(nb::module_& m);
void bind_update(nb::module_& m);
void bind_hmc(nb::module_& m);
void bind_fermion_monomials(nb::module_& m);
void bind_operator(nb::module_& m);
void bind_solver(nb::module_& m);
void bind_custom_operator(nb::module_& m);
void bind_eigen(nb::module_& m);
void bind_multigrid(nb::module_& m);
void bind_staggered(nb::module_& m);
void bind_staggered_propagator(nb::module_& m);
void bind_measure(nb::module_& m);
void bind_domain_wall(nb::module_& m);
void bind_three_point(nb::module_& m);
void bind_io(nb::module_& m);
void bind_hdf5(nb::module_& m);
void bind_glass(nb::module_& m);

/// Sets the Python exception of an agreed stop (base/stop.hpp). @pre the caller has the GIL
void raise_interruption() noexcept;

/// Calls that compute have this: other Python threads run meanwhile. The call must not touch Python objects.
using release_gil = nb::call_guard<nb::gil_scoped_release>;

template <class T>
using Array = nb::ndarray<nb::numpy, T>;
/// It is an argument that was made C-contiguous and of the right type by the Python side.
template <class T>
using ArrayIn = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

/// Makes a new C-ordered array, which is not initialised and which NumPy frees.
template <class T>
Array<T> make_array(const std::vector<size_t>& shape) {
  size_t count = 1;
  for (const size_t extent : shape) count *= extent;
  T* data = new T[count];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return Array<T>(data, shape.size(), shape.data(), owner);
}

template <class T>
Array<T> to_array(const std::vector<T>& values, const std::vector<size_t>& shape) {
  auto array = make_array<T>(shape);
  std::copy(values.begin(), values.end(), array.data());
  return array;
}

/// Returns [t, z, y, x, inner...] for this rank's part of the lattice.
inline std::vector<size_t> site_shape(const Geometry& geometry, std::initializer_list<size_t> inner) {
  const Coord& n = geometry.local();
  std::vector<size_t> shape{size_t(n[3]), size_t(n[2]), size_t(n[1]), size_t(n[0])};
  shape.insert(shape.end(), inner);
  return shape;
}

/// Throws BadArgument if the array has another shape than expected.
template <class T>
void require_shape(const ArrayIn<T>& array, const std::vector<size_t>& expected, const char* what) {
  const auto text = [](size_t n, auto at) {
    std::string s = "[";
    for (size_t i = 0; i < n; ++i) s += (i > 0 ? ", " : "") + std::to_string(at(i));
    return s + "]";
  };
  bool same = array.ndim() == expected.size();
  for (size_t i = 0; same && i < expected.size(); ++i) same = array.shape(i) == expected[i];
  if (!same)
    throw BadArgument(message(what, " must have the shape ",
                              text(expected.size(), [&](size_t i) { return expected[i]; }), ", found ",
                              text(array.ndim(), [&](size_t i) { return array.shape(i); })));
}

}  // namespace trellis::bindings
