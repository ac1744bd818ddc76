#pragma once
/// This file makes P^dagger M P for Wilson-type M, and for coarse operators.
#include "trellis/multigrid/coarse_operator.hpp"
#include "trellis/multigrid/coarse_prolongator.hpp"
#include "trellis/multigrid/prolongator.hpp"
#include "trellis/operator/wilson.hpp"

namespace trellis {

/// Returns the coarse matrices of M, in the storage of P. Only forward legs of M are multiplied: those within
/// an aggregate are a part of A(X), with their adjoints g5 .. g5, and those that leave it are F_mu(X).
/// Collective.
/// @pre M has the storage and the site order of P's columns, and P^dagger P = 1
CoarseMatrixPtr galerkin_product(const WilsonMatrix& M, const Prolongator& P);
/// Does the same with a field like P's columns to work in.
CoarseMatrixPtr galerkin_product(const WilsonMatrix& M, const Prolongator& P, SpinorField& workspace);

/// Returns the matrices of the next level, P^dagger D P, in the storage of P. Collective.
/// @pre D has the storage of P's columns and their lattice, and P^dagger P = 1
/// @throws NumericError: a diagonal matrix of them is singular, or nearly
CoarseMatrixPtr galerkin_product(const CoarseMatrix& D, const CoarseProlongator& P);

}  // namespace trellis
