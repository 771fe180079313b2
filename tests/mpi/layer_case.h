// One synthetic model that all ranks share, and the comparison of a sub-layer's rows with their definition.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/checkpoint.h"
#include "model/weights.h"
#include "options/option_words.h"
#include "tests/mpi/ranks.h"
#include "tests/mpi/whole_weights.h"
#include "tests/support/compare.h"
#include "tests/support/test_files.h"

namespace octet::test {

constexpr uint64_t kModelSeed = 7;  // the golden values' seed

/// This rank's share of a model, and the rule for the whole one.
struct SharedModel {
  std::unique_ptr<TempFolder> owner;  ///< rank 0
  std::string folder;
  ModelConfig config;
  LocalTensors tensors;
  ModelWeights weights;
  WholeWeights whole;
};

/// Collective at first use: rank 0 writes the tiny checkpoint, every rank loads its share.
inline const SharedModel& shared_model() {
  static const SharedModel model = [] {
    auto owner = is_root() ? std::make_unique<TempFolder>() : nullptr;
    std::string folder;
    session().funnel([&] {
      if (!owner) return;
      folder = owner->file("model");
      write_synthetic_checkpoint(data_path("golden/configs/tiny.json"), kModelSeed, folder);
    });
    session().broadcast(folder);
    const Checkpoint checkpoint = open_checkpoint(folder);
    LocalTensors tensors = load_local(checkpoint, session().rank(), session().size());
    ModelWeights weights = bind_weights(checkpoint.config, tensors);
    session().barrier();
    return SharedModel{std::move(owner),   folder,
                       checkpoint.config,  std::move(tensors),
                       std::move(weights), WholeWeights(checkpoint.config, kModelSeed)};
  }();
  return model;
}

inline std::string numerics_name(Numerics numerics) {
  for (const auto& [word, value] : enum_words(Numerics{})) {
    if (value == numerics) return std::string(word);
  }
  return "?";
}

/// A row of any element type in double.
template <class T>
Row as_row(Vec<const T> x) {
  Row row;
  for (const T& v : x) row.push_back(as_double(v));
  return row;
}
template <class T>
std::vector<Row> as_rows(const Array<T, 2>& x) {
  std::vector<Row> rows;
  for (int64_t t = 0; t < x.dim(0); ++t) rows.push_back(as_row<T>(x.view()[t]));
  return rows;
}

/// What may differ between computed rows and their definition.
struct RowBound {
  double worst = 0;         ///< largest relative L2 distance of a row
  double touched = 1;       ///< share of rows that are not, bit by bit, the definition rounded to the element type
  int64_t rows_beyond = 0;  ///< rows that may be farther than `worst`
};

/// The rows against the rounded definition. All values must be finite.
template <class T>
testing::AssertionResult rows_agree(const Array<T, 2>& got, const std::vector<Row>& want, RowBound bound) {
  if (static_cast<int64_t>(want.size()) != got.dim(0)) return testing::AssertionFailure() << "the shapes differ";
  int64_t beyond = 0, touched = 0;
  std::vector<std::pair<double, int64_t>> distances;
  for (int64_t t = 0; t < got.dim(0); ++t) {
    double difference = 0, size = 0;
    for (int64_t d = 0; d < got.dim(1); ++d) {
      const double x = as_double(got(t, d)), y = rounded<T>(want[static_cast<size_t>(t)][static_cast<size_t>(d)]);
      difference += std::isfinite(x) ? (x - y) * (x - y) : std::numeric_limits<double>::infinity();
      size += y * y;
    }
    distances.emplace_back(std::sqrt(difference / size), t);
    beyond += distances.back().first <= bound.worst ? 0 : 1;
    touched += difference == 0 ? 0 : 1;
  }
  std::sort(distances.rbegin(), distances.rend());
  const double share = got.dim(0) == 0 ? 0 : static_cast<double>(touched) / static_cast<double>(got.dim(0));
  const bool good = beyond <= bound.rows_beyond && share <= bound.touched;
  testing::AssertionResult result = good ? testing::AssertionSuccess() : testing::AssertionFailure();
  result << share << " of the rows differ (bound " << bound.touched << "); distances (bound " << bound.worst
         << " for all but " << bound.rows_beyond << "):";
  for (size_t i = 0; i < std::min(distances.size(), size_t{3}); ++i) {
    result << " row " << distances[i].second << ": " << distances[i].first;
  }
  return result;
}

/// What a rank's share gives when the reduction is left out: for the negative controls.
template <class Act>
Array<Act, 2> rounded_share(const Array<float, 2>& share) {
  Array<Act, 2> out(share.dim(0), share.dim(1));
  std::transform(share.begin(), share.end(), out.begin(), [](float v) { return Act(v); });
  return out;
}

}  // namespace octet::test
