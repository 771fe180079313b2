// See reduce_bench.h. A run's own collectives are called, on the CPU's context.
#include "runtime/reduce_bench.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <numbers>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/watchdog.h"
#include "kernels/cpu/context.h"
#include "kernels/quant.h"

namespace octet {
namespace {

constexpr std::array kForms = {SumForm::kFp32, SumForm::kBf16, SumForm::kInt8};
constexpr int64_t kCheckedRows = 16;  // whose error is taken: enough values for three digits

/// Splitmix64: the same addends on every machine.
class Normal {
 public:
  explicit Normal(uint64_t state) : state_(state) {}
  float operator()() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform()));
  }

 private:
  double uniform() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (static_cast<double>((z ^ (z >> 31)) >> 12) + 0.5) * 0x1p-52;
  }
  uint64_t state_;
};

/// Rows of one rank; a row depends on seed, rank and its number alone.
void fill_rows(Mat<float> x, uint64_t seed, int rank) {
  for (int64_t t = 0; t < x.dim[0]; ++t) {
    Normal normal(seed * 1000003 + static_cast<uint64_t>(rank) * 8191 + static_cast<uint64_t>(t) * 131071 + 1);
    std::generate(x[t].begin(), x[t].end(), std::ref(normal));
  }
}

int64_t element_bytes(SumForm form) {
  return form == SumForm::kBf16 ? 2 : 4;
}

double quantile(std::vector<double> sorted, double p) {
  std::sort(sorted.begin(), sorted.end());
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

/// The addends and the result of one size.
class Size {
 public:
  Size(cpu::Context& ctx, const ReduceBench& bench, int64_t tokens)
      : ctx_(ctx),
        bench_(bench),
        share_(ctx.alloc<float>(tokens, bench.hidden)),
        rows_(ctx.alloc<float>(tokens, bench.hidden)),
        narrow_(ctx.alloc<bf16>(tokens, bench.hidden)),
        codes_{ctx.alloc<int8_t>(tokens, bench.hidden), ctx.alloc<bf16>(tokens, bench.hidden / int8::kBlock)} {
    fill_rows(share_, bench.seed, comm::rank(ctx));
  }

  /// One sum, in microseconds on this rank. What a run has anyway (its addend) is made before the clock starts.
  double run(SumForm form) {
    if (form == SumForm::kFp32) std::copy(share_.begin(), share_.end(), rows_.begin());
    if (form == SumForm::kBf16) {
      std::transform(share_.begin(), share_.end(), narrow_.begin(), [](float v) { return bf16(v); });
    }
    ctx_.comm->session().barrier();
    const auto start = std::chrono::steady_clock::now();
    switch (form) {
      case SumForm::kFp32: comm::all_reduce(ctx_, rows_); break;
      case SumForm::kBf16: comm::all_reduce(ctx_, narrow_); break;
      case SumForm::kInt8: comm::all_reduce_int8(ctx_, codes_, share_); break;
    }
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  }

  /// The errors of the last sum of this form.
  void measure_error(SumForm form, ReduceFigures& figures) {
    const auto scope = ctx_.scratch_scope();
    const int64_t rows = std::min(kCheckedRows, share_.dim[0]), n = rows * bench_.hidden;
    if (form == SumForm::kInt8) ops::dequantise_int8(ctx_, rows_, codes_);
    if (form == SumForm::kBf16) {
      std::transform(narrow_.begin(), narrow_.end(), rows_.begin(), [](bf16 v) { return static_cast<float>(v); });
    }
    std::vector<double> exact(static_cast<size_t>(n), 0.0);
    Mat<float> share = ctx_.alloc<float>(rows, bench_.hidden);
    for (int r = 0; r < comm::ranks(ctx_); ++r) {
      fill_rows(share, bench_.seed, r);
      for (size_t i = 0; i < exact.size(); ++i) exact[i] += static_cast<double>(share.data[i]);
    }
    double off = 0, size = 0;
    for (int64_t b = 0; b < n; b += int8::kBlock) {
      double largest = 0, worst = 0;
      for (int64_t i = b; i < b + int8::kBlock; ++i) {
        const double want = exact[static_cast<size_t>(i)], d = static_cast<double>(rows_.data[i]) - want;
        off += d * d;
        size += want * want;
        worst = std::max(worst, std::fabs(d));
        largest = std::max(largest, std::fabs(want));
      }
      figures.largest_error = std::max(figures.largest_error, worst / largest);
    }
    figures.relative_error = std::sqrt(off / size);
  }

  ReduceFigures figures(SumForm form, const std::vector<double>& slowest) {
    const int64_t R = comm::ranks(ctx_), n = share_.size();
    ReduceFigures f;
    f.tokens = share_.dim[0];
    f.form = form;
    f.path = form == SumForm::kInt8 && ctx_.comm->peers() != nullptr ? "peer memory" : "messages";
    f.median_us = quantile(slowest, 0.5);
    f.p10_us = quantile(slowest, 0.1);
    f.p90_us = quantile(slowest, 0.9);
    f.payload_bytes = form == SumForm::kInt8 ? n / int8::kBlock * int8::kBlockBytes : n * element_bytes(form);
    const bool one_shot = form != SumForm::kInt8 && comm::is_one_shot(n);
    f.wire_bytes = one_shot ? (R - 1) * f.payload_bytes : 2 * (R - 1) * f.payload_bytes / R;
    measure_error(form, f);
    return f;
  }

 private:
  cpu::Context& ctx_;
  const ReduceBench& bench_;
  Mat<float> share_, rows_;
  Mat<bf16> narrow_;
  int8::Rows codes_;
};

std::vector<ReduceFigures> bench_size(cpu::Context& ctx, const ReduceBench& bench, int64_t tokens) {
  const auto scope = ctx.scratch_scope();
  Size size(ctx, bench, tokens);
  std::array<std::vector<double>, kForms.size()> own;
  for (int64_t i = 0; i <= bench.repeat; ++i) {
    for (size_t k = 0; k < kForms.size(); ++k) {
      const size_t form = i % 2 == 0 ? k : kForms.size() - 1 - k;
      const double us = size.run(kForms[form]);
      if (i > 0) own[form].push_back(us);  // the first one warms up
    }
  }
  std::vector<ReduceFigures> figures;
  for (size_t form = 0; form < kForms.size(); ++form) {
    const std::vector<double> all = ctx.comm->session().all_gather(own[form]);
    std::vector<double> slowest(own[form].size(), 0.0);
    for (size_t i = 0; i < all.size(); ++i) slowest[i % slowest.size()] = std::max(slowest[i % slowest.size()], all[i]);
    figures.push_back(size.figures(kForms[form], slowest));
  }
  return figures;
}

}  // namespace

std::string sum_form_name(SumForm form) {
  switch (form) {
    case SumForm::kFp32: return "fp32";
    case SumForm::kBf16: return "bf16";
    case SumForm::kInt8: return "int8";
  }
  return "?";
}

std::vector<ReduceFigures> bench_reduce(const ReduceBench& bench, const RunOptions& run, comm::MpiSession& session) {
  if (session.size() == 1) throw Error(Code::kUsage, "bench reduce needs two ranks or more: mpirun -np 8 octet ...");
  if (bench.hidden % int8::kBlock != 0) throw Error(Code::kUsage, "--hidden must be a multiple of 32");
  comm::Communicator communicator(session);
  cpu::Context ctx;
  ctx.comm = &communicator;
  session.watch(run.timeout);
  const comm::Watchdog::Armed armed(session.watchdog(), comm::Watchdog::Span::kLoop);
  const int64_t largest = *std::max_element(bench.tokens.begin(), bench.tokens.end());
  if (run.transport != Transport::kMpi) {
    const bool mapped = communicator.map_peer_memory(largest * bench.hidden / int8::kBlock, run.timeout);
    if (!mapped && run.transport == Transport::kIpc) {
      throw Error(Code::kEnvironment, "--transport ipc needs all ranks on one host, and room in its /dev/shm");
    }
  }
  std::vector<ReduceFigures> all;
  for (const int64_t tokens : bench.tokens) {
    for (ReduceFigures& f : bench_size(ctx, bench, tokens)) all.push_back(std::move(f));
  }
  if (session.rank() != 0) all.clear();
  return all;
}

}  // namespace octet
