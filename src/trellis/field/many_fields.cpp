#include "trellis/field/many_fields.hpp"

#include <algorithm>

#include "trellis/base/error.hpp"
#include "trellis/device/launches.hpp"
#include "trellis/field/storage/dispatch.hpp"
#include "trellis/kernels/linalg/many_fields.hpp"

namespace trellis {

namespace {
constexpr size_t most_fields = ManyFieldsCall::largest_count;

bool is_shared(const SpinorField& field, const SpinorField& w) { return field.rhs() == 1 && w.rhs() > 1; }

/// Requires that all fields are alike, and like w but for their right-hand sides.
void require_fit(const FieldList& fields, const SpinorField& w) {
  for (const SpinorField* field : fields) {
    FieldSpec spec = field->spec();
    const bool same_columns = field->rhs() == fields.front()->rhs();
    const bool has_columns = field->rhs() == w.rhs() || field->rhs() == 1;
    spec.rhs = w.rhs();
    TRELLIS_REQUIRE(field->layout_ptr() == w.layout_ptr() && spec == w.spec() && same_columns && has_columns,
                    "products of many fields: expected fields of the lattice, subset and storage of the "
                    "column, with 1 or ",
                    w.rhs(), " right-hand sides each, found ", field->rhs());
  }
}

/// Returns one right-hand side: its slots lie together in each block (in GPU layouts: each group of sites).
RawField column(const SpinorField& field, int parity, int rhs) {
  RawField raw = field.raw(parity);
  const size_t sites = size_t(sites_of_group(field.spec().backend, field.layout().lanes()));
  const size_t slot = size_t(rhs) * size_t(field.slices());
  raw.data =
      static_cast<char*>(raw.data) + slot * sites * size_t(field.reals()) * element_bytes(field.precision());
  if (raw.scale) raw.scale += slot * sites;
  return raw;
}

/// Calls f(call with fields and columns, its blocks, first right-hand side of it) for each parity, and on a
/// CPU for each right-hand side where the fields have their own.
template <class F>
void for_each_call(const FieldList& fields, const SpinorField& w, const F& f) {
  const bool shares = is_shared(*fields.front(), w),
             is_one = shares || launches_take_own_fields(w.spec().backend);
  const int step = is_one ? w.rhs() : 1;
  for (int parity = first_parity(w.subset()); parity <= last_parity(w.subset()); ++parity)
    for (int first = 0; first < w.rhs(); first += step) {
      std::vector<RawField> x, columns;
      for (int r = first; r < (shares ? first + 1 : first + step); ++r)
        for (const SpinorField* field : fields) x.push_back(column(*field, parity, shares ? 0 : r));
      for (int r = first; r < first + step; ++r) columns.push_back(column(w, parity, r));
      ManyFieldsCall call;
      call.fields = x.data();
      call.count = int(fields.size());
      call.has_own_fields = !shares;
      call.columns = columns.data();
      call.width = int(columns.size());
      call.slices = w.slices();
      call.reals = w.reals();
      f(call, SiteRange(w.layout().blocks(parity)), size_t(first));
    }
}

template <class F>
void dispatch_field(const SpinorField& w, const F& f) {
  dispatch(w.spec().backend, w.precision(), w.layout().lanes(), f);
}

Coefficients run_subtract(SpinorField& w, const FieldCoefficients& c, const FieldList& fields,
                          bool has_norms) {
  require_fit(fields, w);
  const size_t columns = size_t(w.rhs());
  TRELLIS_REQUIRE(c.size() == fields.size(), c.size(), " coefficients for ", fields.size(), " fields");
  std::vector<ExactSum> norms(columns);
  for (size_t begin = 0; begin < fields.size(); begin += most_fields) {
    const size_t end = std::min(begin + most_fields, fields.size());
    std::vector<double> a;  // the order is [rhs][field][re, im]
    for (size_t r = 0; r < columns; ++r)
      for (size_t j = begin; j < end; ++j) a.insert(a.end(), {c[j].at(r).real(), c[j].at(r).imag()});
    const FieldList part(fields.begin() + long(begin), fields.begin() + long(end));
    for_each_call(part, w, [&](ManyFieldsCall& call, const SiteRange& blocks, size_t first) {
      call.coefficients = &a[2 * first * part.size()];
      if (has_norms && end == fields.size()) call.norms = &norms[first];
      dispatch_field(
          w, [&]<class Layout, class Storage>() { launch_many_subtract<Layout, Storage>(call, blocks); });
    });
  }
  Coefficients norm2;
  if (!has_norms) return norm2;
  w.lattice().communicator().sum(norms.data(), int(norms.size()));
  for (const ExactSum& sum : norms) norm2.push_back(sum.value());
  return norm2;
}
}  // namespace

FieldCoefficients dots_each(const FieldList& fields, const SpinorField& w) {
  if (fields.empty()) return {};
  require_fit(fields, w);
  const size_t columns = size_t(w.rhs());
  std::vector<ExactSum> sums(2 * fields.size() * columns);  // each batch has [rhs][field][re, im]
  for (size_t begin = 0; begin < fields.size(); begin += most_fields) {
    const size_t count = std::min(most_fields, fields.size() - begin);
    const FieldList part(fields.begin() + long(begin), fields.begin() + long(begin + count));
    for_each_call(part, w, [&](ManyFieldsCall& call, const SiteRange& blocks, size_t first) {
      call.sums = &sums[2 * (begin * columns + first * count)];
      dispatch_field(w,
                     [&]<class Layout, class Storage>() { launch_many_dots<Layout, Storage>(call, blocks); });
    });
  }
  w.lattice().communicator().sum(sums.data(), int(sums.size()));
  FieldCoefficients result(fields.size(), ComplexCoefficients(columns));
  for (size_t j = 0; j < fields.size(); ++j) {
    const size_t begin = j / most_fields * most_fields, count = std::min(most_fields, fields.size() - begin);
    for (size_t r = 0; r < columns; ++r) {
      const ExactSum* sum = &sums[2 * (begin * columns + r * count + (j - begin))];
      result[j][r] = {sum[0].value(), sum[1].value()};
    }
  }
  return result;
}

void subtract_each(SpinorField& w, const FieldCoefficients& c, const FieldList& fields) {
  run_subtract(w, c, fields, false);
}

Coefficients subtract_each_norm2(SpinorField& w, const FieldCoefficients& c, const FieldList& fields) {
  TRELLIS_REQUIRE(!fields.empty(), "nothing to subtract");
  return run_subtract(w, c, fields, true);
}

int launches_of(const SpinorField& field, const SpinorField& w, size_t count) {
  const size_t batches = (count + most_fields - 1) / most_fields;
  const bool is_one = is_shared(field, w) || launches_take_own_fields(w.spec().backend);
  return int(batches) * (is_one ? 1 : w.rhs());
}

FieldList first_of(const std::vector<SpinorField>& fields, size_t count) {
  FieldList list;
  for (size_t j = 0; j < count; ++j) list.push_back(&fields[j]);
  return list;
}

}  // namespace trellis
