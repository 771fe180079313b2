// octet bench reduce: what the sums of a layer's ranks cost and how right they are, by size and form.
#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/replace_file.h"
#include "commands.h"
#include "engine/run_output.h"
#include "runtime/reduce_bench.h"

namespace octet {
namespace {

Json figures_json(const std::vector<ReduceFigures>& all, const ReduceBench& bench, int ranks) {
  Json list = Json::array();
  for (const ReduceFigures& f : all) {
    list.push(Json::object({{"tokens", f.tokens},
                            {"form", sum_form_name(f.form)},
                            {"path", f.path},
                            {"median_us", f.median_us},
                            {"p10_us", f.p10_us},
                            {"p90_us", f.p90_us},
                            {"payload_bytes", f.payload_bytes},
                            {"wire_bytes", f.wire_bytes},
                            {"relative_error", f.relative_error},
                            {"largest_error", f.largest_error}}));
  }
  return Json::object({{"ranks", static_cast<int64_t>(ranks)},
                       {"hidden", bench.hidden},
                       {"repeat", bench.repeat},
                       {"sums", std::move(list)}});
}

std::string table(const std::vector<ReduceFigures>& all, const ReduceBench& bench, int ranks) {
  std::string text = fmt::format(
      "sums of {} ranks, {} columns, {} repetitions\n{:>7}  {:<5} {:<12} {:>12} {:>22} {:>12} "
      "{:>10} {:>10}\n",
      ranks, bench.hidden, bench.repeat, "tokens", "form", "path", "median us", "p10 to p90", "wire bytes",
      "rel. error", "largest");
  for (const ReduceFigures& f : all) {
    text += fmt::format("{:>7}  {:<5} {:<12} {:>12.1f} {:>22} {:>12} {:>10.2e} {:>10.2e}\n", f.tokens,
                        sum_form_name(f.form), f.path, f.median_us, fmt::format("{:.1f} to {:.1f}", f.p10_us, f.p90_us),
                        f.wire_bytes, f.relative_error, f.largest_error);
  }
  return text;
}

}  // namespace

int run_bench(const Options& options, comm::MpiSession& session) {
  const BenchOptions& b = options.bench;
  session.funnel([&] {
    if (session.rank() == 0) check_outputs("-", {b.json}, b.force);
  });
  const ReduceBench bench{.hidden = b.hidden, .tokens = b.tokens, .repeat = b.repeat, .seed = b.seed};
  const std::vector<ReduceFigures> figures = bench_reduce(bench, options.run, session);
  session.funnel([&] {
    if (session.rank() != 0) return;
    if (!b.json.empty()) {
      replace_file(b.json, figures_json(figures, bench, session.size()).dump() + "\n", Durability::kProcess);
    }
    const std::string text = table(figures, bench, session.size());
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
      throw Error(Code::kEnvironment, "cannot write to standard output");
    }
  });
  return 0;
}

}  // namespace octet
