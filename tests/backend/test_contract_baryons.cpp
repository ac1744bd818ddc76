/// Baryon contractions of random propagators equal reference/, and have the same bits for every lane count
/// and layout.
#include <gtest/gtest.h>

#include "reference/baryons.hpp"
#include "tests/support/random_propagators.hpp"
#include "tests/support/tolerance.hpp"
#include "trellis/base/error.hpp"
#include "trellis/measure/baryons.hpp"

namespace trellis {
namespace in_test_contract_baryons {

const Momenta some_momenta{{0, 0, 0}, {1, 0, -1}};

/// This struct holds three flavours on a lattice, in the reference and in the product.
struct Quarks {
  Coord extents, at;
  std::vector<reference::Propagator> of_reference;
  std::vector<Propagator> of_product;

  Quarks(const Coord& lattice_extents, const FieldSpec& storage = {})
      : extents{lattice_extents}, at{1, 0, lattice_extents[2] - 1, lattice_extents[3] - 2} {
    const auto lattice = make_lattice(extents);
    for (uint64_t flavour = 0; flavour < 3; ++flavour) {
      of_reference.push_back(test::random_propagator(extents, 10 + flavour));
      of_product.push_back(test::to_product(lattice, of_reference.back(), at, storage));
    }
  }
  BaryonQuarks flavours() const { return {&of_product[0], &of_product[1], &of_product[2]}; }
  reference::TwoPointOptions options(const Momentum& n) const {
    reference::TwoPointOptions o;
    o.momentum = n;
    o.source_at = at;
    return o;
  }
};

void expect_equal(const CorrelatorTable& found, int row, const Quarks& q, const std::string& name,
                  const std::function<std::vector<std::complex<double>>(const Momentum&)>& reference_of) {
  for (int p = 0; p < found.momenta; ++p) {
    const auto expected = reference_of(some_momenta[size_t(p)]);
    // A term is a product of three entries of order 1, and there are hundreds of terms a site.
    const double scale = 500.0 * double(product(q.extents)) / q.extents[3];
    for (int t = 0; t < found.times; ++t)
      EXPECT_LT(std::abs(found.at(row, p, t) - expected[size_t(t)]), test::rounding(20) * scale)
          << name << " momentum " << p << " t = " << t << ": " << found.at(row, p, t) << " for "
          << expected[size_t(t)];
  }
}

TEST(ContractBaryons, octet_of_the_full_form_equals_reference) {
  const Quarks q({2, 2, 4, 4});
  const struct {
    const char* name;
    int q1, q2;
  } octet[] = {{"proton", 0, 1},      {"neutron", 1, 0}, {"sigma_plus", 0, 2},
               {"sigma_minus", 1, 2}, {"xi_zero", 2, 0}, {"xi_minus", 2, 1}};
  std::vector<std::string> names;
  for (const auto& b : octet) names.push_back(b.name);
  const auto C =
      octet_correlators(q.flavours(), names, {parity_projector(1), polarised_projector(1)}, some_momenta);
  ASSERT_EQ(C.rows, 12);
  for (int b = 0; b < 6; ++b)
    for (const bool is_polarised : {false, true})
      expect_equal(C, 2 * b + is_polarised, q, octet[b].name, [&](const Momentum& n) {
        return reference::octet_two_point(
            reference::DiquarkForm::full, octet[b].q1, octet[b].q2,
            is_polarised ? reference::polarised_projector() : reference::unpolarised_projector(),
            q.of_reference, q.options(n));
      });
}

/// The form Lambda = [2 (u G d) s + (u G s) d - (d G s) u] / sqrt6 is contracted term by term in the
/// reference.
TEST(ContractBaryons, lambda_of_the_full_form_equals_reference) {
  const Quarks q({2, 2, 2, 4});
  const SpinMatrix P = parity_projector(1);
  const auto C = octet_correlators(q.flavours(), {"lambda"}, {P}, {some_momenta[1]});
  const reference::SpinMatrix G = reference::spin_matrix(octet_diquark());
  auto lambda = [&](int gamma) {
    reference::BaryonOperator B;
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b) {
        const auto g = G[size_t(a)][size_t(b)] / std::sqrt(6.0);
        if (g == 0.0) continue;
        B.push_back({2.0 * g, {0, 1, 2}, {a, b, gamma}});
        B.push_back({g, {0, 2, 1}, {a, b, gamma}});
        B.push_back({-g, {1, 2, 0}, {a, b, gamma}});
      }
    return B;
  };
  std::vector<std::complex<double>> expected(4, 0.0);
  for (int g = 0; g < 4; ++g)
    for (int d = 0; d < 4; ++d) {
      std::complex<double> weight = 0;  // this is (gamma_t P)_dg
      for (int k = 0; k < 4; ++k)
        weight += reference::spin_matrix(gamma_mu(3))[size_t(d)][size_t(k)] * P[size_t(k)][size_t(g)];
      if (weight == 0.0) continue;
      const auto part =
          reference::baryon_correlator(lambda(g), lambda(d), q.of_reference, q.options(some_momenta[1]));
      for (size_t t = 0; t < 4; ++t) expected[t] += weight * part[t];
    }
  for (int t = 0; t < 4; ++t)
    EXPECT_LT(std::abs(C.at(0, 0, t) - expected[size_t(t)]), test::rounding(2e5))
        << C.at(0, 0, t) << " " << expected[size_t(t)];
}

TEST(ContractBaryons, decuplet_of_the_full_form_equals_reference) {
  const Quarks q({2, 2, 2, 4});
  const struct {
    const char* name;
    int q1, q2;
  } decuplet[] = {{"delta_plus_plus", 0, 0}, {"delta_zero", 1, 0}, {"xi_star_minus", 2, 1}};
  for (const auto& b : decuplet) {
    const auto C = decuplet_correlators(q.flavours(), {b.name}, {some_momenta[0], some_momenta[1]});
    expect_equal(C, 0, q, b.name, [&](const Momentum& n) {
      return reference::decuplet_two_point(b.q1, b.q2, q.of_reference, q.options(n));
    });
  }
  EXPECT_THROW(decuplet_correlators(q.flavours(), {"proton"}), BadArgument);
  EXPECT_THROW(octet_correlators(q.flavours(), {"omega_minus"}, {parity_projector(1)}), BadArgument);
}

/// For quarks with gamma_t = 1 only, spin 3/2 is all there is: the form `full` is twice the sum of the four
/// states of the form `projected` (six times for two flavours, whose norms differ).
TEST(ContractBaryons, decuplet_of_projected_quarks_is_the_projected_form) {
  Quarks q({2, 2, 2, 4});
  const GammaMatrix gamma_t = gamma_mu(3);
  for (size_t flavour = 0; flavour < 3; ++flavour) {
    reference::Propagator S = q.of_reference[flavour];
    for (size_t row = 0; row < 4; ++row)  // S + S gamma_t: the columns are the source's spins
      for (size_t colour = 0; colour < 3; ++colour)
        reference::add_scaled(S.columns[3 * size_t(gamma_t.column[row]) + colour], gamma_t.phase[row],
                              q.of_reference[flavour].columns[3 * row + colour]);
    for (auto& column : S.columns) {
      reference::add_scaled(column, 1.0, reference::multiply(gamma_t, column));
      reference::add_scaled(column, -0.75, reference::SpinorVector(column));
    }
    q.of_product[flavour] = test::to_product(q.of_product[flavour].lattice_ptr(), S, q.at);
  }
  for (const auto& [name, factor] :
       {std::pair{"omega_minus", 2.0}, {"delta_plus", 6.0}, {"xi_star_zero", 6.0}}) {
    const auto full = decuplet_correlators(q.flavours(), {name});
    const auto projected = projected_correlators(q.flavours(), baryon_states({name}));
    for (int t = 0; t < full.times; ++t) {
      std::complex<double> sum = 0;
      for (int state = 0; state < 4; ++state) sum += projected.at(state, 0, t);
      EXPECT_LT(std::abs(full.at(0, 0, t) - factor * sum), test::rounding(2e5)) << name << " " << t;
    }
  }
}

/// In the multiplet with equal quarks the ten correlators are one.
TEST(ContractBaryons, decuplet_of_equal_quarks_is_one) {
  Quarks q({2, 2, 4, 2});
  BaryonQuarks equal = q.flavours();
  equal.down = equal.strange = equal.up;
  const auto C = decuplet_correlators(equal, decuplet_names());
  for (int row = 1; row < C.rows; ++row)
    for (int t = 0; t < C.times; ++t)
      EXPECT_LT(std::abs(C.at(row, 0, t) - C.at(0, 0, t)), test::rounding(2e5))
          << decuplet_names()[size_t(row)];
}

TEST(ContractBaryons, projected_octet_and_decuplet_equal_reference) {
  const Quarks q({2, 2, 2, 4});
  const auto states = baryon_states({"proton", "xi_minus", "lambda", "delta_plus_plus", "sigma_star_plus"});
  const auto C = projected_correlators(q.flavours(), states, some_momenta);
  ASSERT_EQ(C.rows, 3 * 2 + 2 * 4);
  for (int row = 0; row < C.rows; ++row) {
    const int spin = states[size_t(row)].twice_spin;
    const std::string& name = states[size_t(row)].baryon;
    const reference::BaryonOperator B = name == "proton"     ? reference::projected_octet(0, 1, spin > 0)
                                        : name == "xi_minus" ? reference::projected_octet(2, 1, spin > 0)
                                        : name == "lambda"   ? reference::projected_lambda(0, 1, 2, spin > 0)
                                        : name == "delta_plus_plus"
                                            ? reference::projected_decuplet(0, 0, spin)
                                            : reference::projected_decuplet(0, 2, spin);
    expect_equal(C, row, q, name, [&](const Momentum& n) {
      return reference::baryon_correlator(B, B, q.of_reference, q.options(n));
    });
  }
}

/// gamma5 turns the basis of gamma_t = 1 into that of -1.
TEST(ContractBaryons, parity_partner_is_the_form_of_gamma5_S_gamma5) {
  Quarks q({2, 4, 2, 4});
  const auto states = baryon_states({"proton", "omega_minus", "sigma_zero"});
  const auto negative = projected_correlators(q.flavours(), states, some_momenta, -1);
  for (size_t flavour = 0; flavour < 3; ++flavour) {
    reference::Propagator S = q.of_reference[flavour];
    for (size_t column = 0; column < 12; ++column) {
      S.columns[column] = reference::multiply(gamma_product(15), S.columns[column]);
      if (column >= 6)
        for (auto& psi : S.columns[column]) psi = reference::operator*(Complex<double>{-1, 0}, psi);
    }
    q.of_product[flavour] = test::to_product(q.of_product[flavour].lattice_ptr(), S, q.at);
  }
  const auto positive = projected_correlators(q.flavours(), states, some_momenta, 1);
  for (size_t i = 0; i < positive.values.size(); ++i)
    EXPECT_LT(std::abs(negative.values[i] - positive.values[i]), 1e-12 * (1 + std::abs(positive.values[i])));
}

TEST(ContractBaryons, isospin_partners_agree_for_equal_quarks) {
  const Quarks q({2, 2, 2, 4});
  const BaryonQuarks isospin{&q.of_product[0], &q.of_product[0], &q.of_product[2]};
  const auto C =
      octet_correlators(isospin, {"sigma_plus", "sigma_zero", "sigma_minus"}, {parity_projector(1)});
  const auto D = projected_correlators(
      isospin, {{"sigma_star_plus", 1}, {"sigma_star_zero", 1}, {"sigma_star_minus", 1}});
  const auto E = projected_correlators(isospin, {{"sigma_plus", 1}, {"sigma_zero", 1}, {"sigma_minus", 1}});
  for (const CorrelatorTable* table : {&C, &D, &E})
    for (int t = 0; t < 4; ++t)
      for (int row : {1, 2})
        EXPECT_LT(std::abs(table->at(row, 0, t) - table->at(0, 0, t)), test::rounding(1e4)) << row;
}

TEST(ContractBaryons, every_layout_gives_the_same_bits) {
  for (const Coord& extents : {Coord{4, 2, 4, 8}, Coord{2, 2, 2, 16}, Coord{6, 2, 2, 2}})
    for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
      std::vector<std::complex<double>> expected[2];
      for (const auto& [backend, lanes] : {std::pair{Backend::cpu, 1},
                                           {Backend::cpu, 4},
                                           {Backend::cpu, 8},
                                           {Backend::cpu, 16},
                                           {Backend::gpu_emulated, 1}}) {
        FieldSpec storage;
        storage.precision = precision;
        storage.backend = backend;
        storage.lanes = lanes;
        const Quarks q(extents, storage);
        const auto full = octet_correlators(q.flavours(), {"proton", "lambda"},
                                            {parity_projector(1), parity_projector(-1)}, some_momenta);
        const auto projected =
            projected_correlators(q.flavours(), baryon_states({"xi_zero", "delta_plus"}), some_momenta);
        if (expected[0].empty()) {
          expected[0] = full.values;
          expected[1] = projected.values;
        }
        EXPECT_EQ(expected[0], full.values)
            << to_string(extents) << " " << name_of(backend) << " lanes " << lanes;
        EXPECT_EQ(expected[1], projected.values)
            << to_string(extents) << " " << name_of(backend) << " lanes " << lanes;
      }
    }
}

TEST(ContractBaryons, errors_name_what_is_wrong) {
  const Quarks q({2, 2, 2, 4});
  EXPECT_THROW(octet_correlators(q.flavours(), {"protn"}, {parity_projector(1)}), BadArgument);
  EXPECT_THROW(octet_correlators(q.flavours(), {"omega_minus"}, {parity_projector(1)}), BadArgument);
  EXPECT_THROW(octet_correlators({&q.of_product[0], nullptr, nullptr}, {"proton"}, {parity_projector(1)}),
               BadArgument);
  EXPECT_THROW(projected_correlators(q.flavours(), {{"proton", 3}}), BadArgument);
  EXPECT_THROW(projected_correlators(q.flavours(), {{"proton", 1}}, zero_momentum, 0), BadArgument);
}

TEST(ContractBaryons, sign_is_removed_from_wrapped_times_only_where_there_is_one) {
  Quarks q({2, 2, 2, 4});
  const auto antiperiodic = projected_correlators(q.flavours(), {{"proton", 1}});
  const auto lattice = q.of_product[0].lattice_ptr();
  for (size_t flavour = 0; flavour < 3; ++flavour)
    q.of_product[flavour] =
        test::to_product(lattice, q.of_reference[flavour], q.at, {}, {1.0, 1.0, 1.0, 1.0});
  const auto periodic = projected_correlators(q.flavours(), {{"proton", 1}});
  for (int t = 0; t < 4; ++t)  // the source is at t = 2
    EXPECT_EQ(antiperiodic.at(0, 0, t), t < 2 ? periodic.at(0, 0, t) : -periodic.at(0, 0, t));
}

}  // namespace in_test_contract_baryons
}  // namespace trellis
