/// Python functions become linear operators here: each application calls one.
#include "bindings.hpp"
#include "trellis/field/columns.hpp"
#include "trellis/field/linear_operator.hpp"

namespace trellis::bindings {

namespace {

/// Python declares an operator to have these properties.
struct Declared {
  bool is_linear, is_hermitian, is_positive;
};

/// It acts on fields of another operator's kind, in any storage: Python sees one right-hand side at a time,
/// in double and on the host.
class CustomOperator final : public LinearOperator {
 public:
  CustomOperator(LinearOperatorPtr like, nb::callable function, std::string name, const Declared& declared)
      : like_{std::move(like)},
        function_{std::make_shared<nb::object>(std::move(function))},
        name_{std::move(name)},
        declared_{declared} {}
  ~CustomOperator() override {
    const nb::gil_scoped_acquire gil;
    function_.reset();
  }
  CustomOperator(const CustomOperator&) = delete;
  CustomOperator& operator=(const CustomOperator&) = delete;

  bool is_hermitian() const override { return declared_.is_hermitian; }
  bool is_positive() const override { return declared_.is_positive; }
  bool is_linear() const override { return declared_.is_linear; }
  FieldSpec domain(int columns = 1) const override { return like_->domain(columns); }
  const LatticePtr& domain_lattice() const override { return like_->domain_lattice(); }
  Cost cost(int) const override { return {}; }  // the work of Python is not counted
  LinearOperatorPtr converted(Precision precision) const override {
    const nb::gil_scoped_acquire gil;
    return std::make_shared<CustomOperator>(like_->converted(precision), nb::cast<nb::callable>(*function_),
                                            name_, declared_);
  }
  std::string name() const override { return name_; }
  const std::shared_ptr<nb::object>& function() const { return function_; }

 private:
  void multiply(SpinorField& out, const SpinorField& in, bool is_dagger, ColumnSums&) const override {
    if (is_dagger && !declared_.is_hermitian)
      throw NotAvailable(message(name_, " is not declared hermitian, and its adjoint is not known"));
    FieldSpec one = in.spec();
    one.rhs = 1;
    FieldSpec host = one;
    host.precision = Precision::double_precision;
    host.backend = Backend::cpu;
    host.lanes = 0;
    SpinorField column(in.lattice_ptr(), one), seen(in.lattice_ptr(), host);
    for (int r = 0; r < in.rhs(); ++r) {
      copy_columns(column, 0, in, r, 1);
      convert(seen, column);
      convert(column, called(seen));
      copy_columns(out, r, column, 0, 1);
    }
  }
  SpinorField called(const SpinorField& in) const {
    const nb::gil_scoped_acquire gil;
    return nb::cast<SpinorField>((*function_)(in));
  }
  LinearOperatorPtr like_;
  std::shared_ptr<nb::object> function_;
  std::string name_;
  Declared declared_;
};

/// Python's collector of cycles sees the function, through which an operator may refer to itself.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  if (const auto& function = nb::inst_ptr<CustomOperator>(self)->function()) Py_VISIT(function->ptr());
  return 0;
}
int clear(PyObject* self) {
  if (nb::inst_ready(self))
    if (const auto& function = nb::inst_ptr<CustomOperator>(self)->function()) *function = nb::none();
  return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {0, nullptr}};

}  // namespace

void bind_custom_operator(nb::module_& m) {
  nb::class_<CustomOperator, LinearOperator>(m, "CustomOperator", nb::type_slots(slots))
      .def(
          "__init__",
          [](CustomOperator* self, std::shared_ptr<LinearOperator> like, nb::callable function,
             std::string name, bool is_linear, bool is_hermitian, bool is_positive) {
            new (self) CustomOperator(std::move(like), std::move(function), std::move(name),
                                      {is_linear, is_hermitian, is_positive});
          },
          "like"_a, "function"_a, "name"_a, "is_linear"_a, "is_hermitian"_a, "is_positive"_a);
}

}  // namespace trellis::bindings
