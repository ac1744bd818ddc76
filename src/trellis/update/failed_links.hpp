#pragma once
/// These are the links at which a solve, or anything else of a trajectory, failed: they are kept for whoever
/// looks for the reason.
#include <exception>
#include <memory>
#include <string>

#include "trellis/base/error.hpp"
#include "trellis/field/gauge_field.hpp"

namespace trellis {

class FailedLinks {
 public:
  /// Returns what `work` returns. Where it throws NumericError, U and `stage` ("heat bath", "action",
  /// "force") are kept and the error goes on. Collective: all ranks throw or none.
  template <class Work>
  auto guard(const GaugeField& U, const char* stage, const Work& work) -> decltype(work()) {
    try {
      return work();
    } catch (const NumericError&) {
      keep(U, stage);
      throw;
    }
  }
  void clear() { links_.reset(); }
  /// Returns nullptr where nothing failed, or there was no memory for a copy.
  const std::shared_ptr<GaugeField>& links() const { return links_; }
  const std::string& stage() const { return stage_; }

 private:
  /// Never throws: the error that is on its way is the one to hear of.
  void keep(const GaugeField& U, const char* stage) noexcept {
    stage_ = stage;
    try {
      links_ = std::make_shared<GaugeField>(U);
    } catch (const std::exception&) {
      links_.reset();
    }
    if (U.lattice().communicator().any(links_ == nullptr)) links_.reset();
  }
  std::shared_ptr<GaugeField> links_;
  std::string stage_;
};

}  // namespace trellis
