/// Python gets the HDF5 files of the compiled part here. Python code that has loaded this module writes
/// through it, not through h5py.
#include "trellis/io/hdf5.hpp"
#include "bindings.hpp"

namespace trellis::bindings {

namespace {
using hdf5::Group;

hdf5::Dims dims_of(const auto& array) {
  hdf5::Dims dims;
  for (size_t i = 0; i < array.ndim(); ++i) dims.push_back(int64_t(array.shape(i)));
  return dims;
}

template <class T>
void write(Group& group, const std::string& name, const ArrayIn<T>& array) {
  const hdf5::Dims dims = dims_of(array);
  const nb::gil_scoped_release release;
  group.write<T>(name, array.data(), dims);
}

template <class T>
Array<T> read(const Group& group, const std::string& name) {
  std::vector<T> values;
  hdf5::Dims dims;
  {
    const nb::gil_scoped_release release;
    dims = group.dims(name);
    values = group.read<T>(name);
  }
  return to_array(values, std::vector<size_t>(dims.begin(), dims.end()));
}

template <class T>
void set_attribute(Group& group, const std::string& name, const T& value, const std::string& of) {
  group.set_attribute(name, value, of);
}
}  // namespace

void bind_hdf5(nb::module_& m) {
  m.def("hdf5_version", &hdf5::library_version);
  nb::class_<Group>(m, "Hdf5Group")
      .def("make_group", &Group::make_group, "name"_a)
      .def("group", &Group::group, "name"_a)
      .def("has", &Group::has, "name"_a)
      .def("names", &Group::names)
      .def("write_float64", &write<double>, "name"_a, "array"_a)
      .def("write_int64", &write<int64_t>, "name"_a, "array"_a)
      .def("write_complex128", &write<std::complex<double>>, "name"_a, "array"_a)
      .def("read_float64", &read<double>, "name"_a)
      .def("read_int64", &read<int64_t>, "name"_a)
      .def("read_complex128", &read<std::complex<double>>, "name"_a)
      .def("set_text", &set_attribute<std::string>, "name"_a, "value"_a, "of"_a = ".")
      .def("set_fixed_text", &Group::set_fixed_text, "name"_a, "value"_a, "of"_a = ".")
      .def("set_real", &set_attribute<double>, "name"_a, "value"_a, "of"_a = ".")
      .def("set_integer", &set_attribute<int64_t>, "name"_a, "value"_a, "of"_a = ".")
      .def("set_reals", &set_attribute<std::vector<double>>, "name"_a, "value"_a, "of"_a = ".")
      .def("set_integers", &set_attribute<std::vector<int64_t>>, "name"_a, "value"_a, "of"_a = ".")
      .def("text", &Group::text_attribute, "name"_a, "of"_a = ".")
      .def("reals", &Group::real_attribute, "name"_a, "of"_a = ".")
      .def("integers", &Group::integer_attribute, "name"_a, "of"_a = ".")
      .def("has_attribute", &Group::has_attribute, "name"_a, "of"_a = ".");
  nb::class_<hdf5::File>(m, "Hdf5File")
      .def_static(
          "create", [](const std::string& path) { return hdf5::File::create(path); }, "path"_a)
      .def_static(
          "open", [](const std::string& path) { return hdf5::File::open(path); }, "path"_a)
      .def("root", &hdf5::File::root, nb::keep_alive<0, 1>())
      .def("commit", &hdf5::File::commit, release_gil());
}

}  // namespace trellis::bindings
