// See ab_report.h: the table and the JSON.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "engine/ab_report.h"

namespace octet {
namespace {

double median_of(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double x : values) list.push(x);
  return list;
}

Json interval(const Estimate& estimate) {
  return Json::array({estimate.low, estimate.high});
}

/// Tokens of prompts per second, or in decode steps of sequences; NaN where prompts differ in length.
double rate_of(const AbCase& one, const ArmRecord& record) {
  if (!record.step_ms.empty()) return 1000.0 * static_cast<double>(one.sequences) / median_of(record.step_ms);
  return one.tokens > 0 ? 1000.0 * static_cast<double>(one.tokens) / median_of(record.ttft_ms) : std::nan("");
}

Json agreement_json(const std::vector<Agreement>& agreements) {
  Json apart = Json::array();
  std::vector<double> shares;
  for (const Agreement& a : agreements) {
    shares.push_back(a.tokens > 0 ? static_cast<double>(a.agreed) / static_cast<double>(a.tokens) : 1.0);
    if (a.margin) apart.push(Json::object({{"id", a.id}, {"position", a.agreed}, {"margin", *a.margin}}));
  }
  const Estimate share = mean_ci95(shares);
  const auto prompts = static_cast<int64_t>(agreements.size());
  return Json::object({{"prompts", prompts},
                       {"same", prompts - static_cast<int64_t>(apart.items.size())},
                       {"agreement", share.mean},
                       {"agreement_ci95", interval(share)},
                       {"divergences", std::move(apart)}});
}

Json results_json(const ResultCheck& check) {
  return Json::object({{"places", check.places},
                       {"not_finite", check.not_finite},
                       {"top1_agreement", check.top1},
                       {"shift", check.shift},
                       {"kl", check.kl.mean},
                       {"kl_ci95", interval(check.kl)},
                       {"margin_shift", check.margin_shift.mean},
                       {"margin_shift_ci95", interval(check.margin_shift)}});
}

Json arm_json(const AbResult& result, const std::vector<AbCase>& cases, size_t arm) {
  std::vector<double> ttft, step;
  CampaignCounts counts;
  for (const AbCase& one : cases) {
    const ArmRecord& record = one.arms[arm];
    ttft.insert(ttft.end(), record.ttft_ms.begin(), record.ttft_ms.end());
    step.insert(step.end(), record.step_ms.begin(), record.step_ms.end());
    counts += record.counts;
  }
  Json json = Json::object(
      {{"name", result.names[arm]}, {"path", path_text(counts, result.plain_path)}, {"ttft_ms", numbers(ttft)}});
  if (!step.empty()) json.set("step_ms", numbers(step));
  if (cases.size() == 1) {
    const double rate = rate_of(cases[0], cases[0].arms[arm]);
    if (std::isfinite(rate)) json.set(step.empty() ? "tokens_per_second" : "sequence_steps_per_second", rate);
  }
  return json;
}

Json compare_json(const AbResult& result, const std::vector<AbCase>& cases, size_t arm) {
  const ArmChange change = change_of_arm(cases, arm);
  Json json = Json::object(
      {{"arm", result.names[arm]}, {"ttft_delta", change.ttft.mean}, {"ttft_ci95", interval(change.ttft)}});
  if (change.step) json.set("step_delta", change.step->mean).set("step_ci95", interval(*change.step));
  json.set("results", results_json(change.results)).set("wrong", is_wrong(result, arm));
  if (result.mode == AbMode::kGenerate) json.set("tokens", agreement_json(cases[0].arms[arm].agreements));
  return json;
}

/// The keys that describe some cases together.
void set_figures(Json& json, const AbResult& result, const std::vector<AbCase>& cases) {
  const size_t null_arm = result.names.size() - 1;
  Json arms = Json::array(), compare = Json::array();
  for (size_t arm = 0; arm < null_arm; ++arm) arms.push(arm_json(result, cases, arm));
  for (size_t arm = 1; arm < null_arm; ++arm) compare.push(compare_json(result, cases, arm));
  const ArmChange change = change_of_arm(cases, null_arm);
  json.set("arms", std::move(arms));
  json.set("null", Json::object({{"pass", null_passes(change)},
                                 {"ci95", interval(change.measure())},
                                 {"delta", change.measure().mean},
                                 {"results", results_json(change.results)}}));
  json.set("compare", std::move(compare));
}

std::string change_text(const Estimate& change) {
  return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f})", 100 * change.mean, 100 * change.low, 100 * change.high);
}

std::string arm_line(const AbResult& result, const AbCase& one, size_t arm, size_t width) {
  const ArmRecord& record = one.arms[arm];
  const double rate = rate_of(one, record);
  std::string line = fmt::format("  {:<{}}  {:>10.3f}", result.names[arm], width, median_of(record.ttft_ms));
  if (!record.step_ms.empty()) line += fmt::format("  {:>9.3f}", median_of(record.step_ms));
  if (std::isfinite(rate)) line += fmt::format("  {:>9.1f}", rate);
  if (arm > 0) {
    const ArmChange change = change_of_arm({one}, arm);
    line += fmt::format("  {:>28}  {:>5.1f} %  {:>9.3g}  {:>9.3f}", change_text(change.measure()),
                        100 * change.results.top1, change.results.kl.mean, change.results.shift);
  } else {
    line += fmt::format("  {:>28}  {:>7}  {:>9}  {:>9}", "", "", "", "");
  }
  return fmt::format("{}  {}\n", line, path_text(record.counts, result.plain_path));
}

std::string agreement_line(const AbResult& result, const AbCase& one, size_t arm) {
  const std::vector<Agreement>& all = one.arms[arm].agreements;
  const auto parted = [](const Agreement& a) { return a.margin.has_value(); };
  const auto apart = std::count_if(all.begin(), all.end(), parted);
  const ResultCheck check = check_results(one.arms[arm].results);
  std::string text = fmt::format(
      "  {}: {} of {} completions alike; KL {:.3g} nats (95 % CI {:.3g} to {:.3g}), margin of the top two "
      "{:+.3g} ({:+.3g} to {:+.3g})\n",
      result.names[arm], static_cast<int64_t>(all.size()) - apart, all.size(), check.kl.mean, check.kl.low,
      check.kl.high, check.margin_shift.mean, check.margin_shift.low, check.margin_shift.high);
  const auto first = std::find_if(all.begin(), all.end(), parted);
  if (first == all.end()) return text;
  return text + fmt::format("    first divergence: prompt {}, token {}, where control's margin is {:.3g}\n",
                            first->id.dump(), first->agreed, *first->margin);
}

}  // namespace

Json ab_json(const AbResult& result) {
  const bool is_decode = result.mode == AbMode::kDecode;
  Json json = Json::object();
  set_figures(json, result, result.cases);
  const std::optional<std::string> text = verdict(result);
  json.set("verdict", text ? Json(*text) : Json());
  Json wrong = Json::array(), cases = Json::array();
  for (const std::string& name : wrong_arms(result)) wrong.push(name);
  for (const AbCase& one : result.cases) {
    Json part = Json::object({{"title", one.title}, {"tokens", one.tokens}, {"sequences", one.sequences}});
    set_figures(part, result, {one});
    cases.push(std::move(part));
  }
  json.set("wrong", std::move(wrong));
  json.set("measure", is_decode ? "step" : "ttft");
  json.set("cases", std::move(cases));
  return json;
}

std::string ab_table(const AbResult& result) {
  size_t width = 4;
  for (const std::string& name : result.names) width = std::max(width, name.size());
  std::string text;
  for (const AbCase& one : result.cases) {
    const bool steps = !one.arms[0].step_ms.empty(), rates = std::isfinite(rate_of(one, one.arms[0]));
    text += fmt::format("{}\n  {:<{}}  {:>10}{}{}  {:>28}  {:>7}  {:>9}  {:>9}  path\n", one.title, "arm", width,
                        "TTFT ms", steps ? fmt::format("  {:>9}", "step ms") : "",
                        rates ? fmt::format("  {:>9}", steps ? "steps/s" : "tok/s") : "", "change (95 %)", "top-1",
                        "KL nats", "shift");
    for (size_t arm = 0; arm < result.names.size(); ++arm) text += arm_line(result, one, arm, width);
    if (result.mode != AbMode::kGenerate) continue;
    for (size_t arm = 1; arm + 1 < result.names.size(); ++arm) text += agreement_line(result, one, arm);
  }
  for (const std::string& name : wrong_arms(result)) text += fmt::format("WRONG: {}\n", name);
  const std::optional<std::string> words = verdict(result);
  return text + fmt::format("verdict: {}\n",
                            words.value_or("none: the reference differs from itself (the null arm fails); the machine "
                                           "is too busy for times, or --repeat too small"));
}

}  // namespace octet
