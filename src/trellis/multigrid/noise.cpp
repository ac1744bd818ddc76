#include "trellis/multigrid/noise.hpp"

#include <numeric>

#include "trellis/algebra/random.hpp"
#include "trellis/device/threads.hpp"
#include "trellis/field/storage/on_host.hpp"

namespace trellis {

void fill_with_noise(SiteField& field, uint64_t seed, uint32_t draw, const std::vector<int>& numbers) {
  const RandomKey key = random_key(seed, 0);
  on_host(field, [&](SiteField& image) {
    const Geometry& g = image.geometry();
    const size_t pairs = size_t(image.reals()) / 2;
    for_each_index(int(g.local_volume()), [&](int i) {
      const Coord x = site_coord(i, g.local());
      const SitePosition at = image.layout().position(x);
      if (image.subset() != Subset::full && subset_of(at.parity) != image.subset()) return;
      std::vector<double> site(2 * pairs);
      const SiteRandom<double> random(key, RandomPurpose::multigrid, draw, uint64_t(g.global_index(x)));
      for (int j = 0; j < image.rhs(); ++j) {
        for (size_t k = 0; k < pairs; ++k) {
          const auto pair = random.uniform_pair(uint32_t(pairs * size_t(numbers[size_t(j)]) + k));
          site[2 * k] = pair[0] - 0.5;
          site[2 * k + 1] = pair[1] - 0.5;
        }
        image.set_site(at, j, site.data());
      }
    });
  });
}

std::vector<int> all_columns(const SiteField& field) {
  std::vector<int> numbers(size_t(field.rhs()));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace trellis
