// `octet doctor`: looks at machine, launcher and model on every rank, tries a collective, and prints one list from rank
// 0.
#include "doctor.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "base/error.h"
#include "commands.h"

namespace octet {
namespace {

using Level = Finding::Level;

/// A finding and the ranks that have it.
struct Shared {
  Finding finding;
  std::vector<int> ranks;
};

Json to_json(const Machine& m, const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& f : findings) {
    list.push(
        Json::object({{"level", static_cast<int64_t>(f.level)}, {"check", f.check}, {"text", f.text}, {"fix", f.fix}}));
  }
  return Json::object({{"host", m.host}, {"pid", m.pid}, {"cpus", cpu_list(m.cpus)}, {"findings", std::move(list)}});
}

/// A host's first rank speaks for the host; of the others only what is their own is kept.
void keep_own(std::vector<Finding>& findings) {
  std::erase_if(findings, [](const Finding& f) { return f.check != "binding" && f.check != "collective"; });
}

/// The findings of all ranks, equal ones once, in the order of the first rank that has them.
std::vector<Shared> merge(const std::vector<Json>& ranks) {
  std::vector<Shared> merged;
  std::map<std::string, size_t> known;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const Json& f : ranks[rank].find("findings")->items) {
      const auto [at, is_new] = known.try_emplace(f.dump(), merged.size());
      if (is_new) {
        merged.push_back({{static_cast<Level>(f.find("level")->as_int().value_or(2)), f.find("check")->text,
                           f.find("text")->text, f.find("fix")->text},
                          {}});
      }
      merged[at->second].ranks.push_back(static_cast<int>(rank));
    }
  }
  return merged;
}

/// A real exchange among the ranks, checked value by value.
Finding collective_finding(comm::MpiSession& session) {
  constexpr int64_t kValues = 4096;
  constexpr int kTimes = 10;
  std::vector<double> own(kValues);
  for (int64_t i = 0; i < kValues; ++i) own[static_cast<size_t>(i)] = static_cast<double>(session.rank() * kValues + i);
  bool right = true;
  const auto start = std::chrono::steady_clock::now();
  for (int t = 0; t < kTimes; ++t) {
    const std::vector<double> all = session.all_gather(own);
    for (size_t i = 0; i < all.size(); ++i) right = right && all[i] == static_cast<double>(i);
  }
  const double ms = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3 / kTimes;
  const bool all_right = session.agree(right);
  // The time is rank 0's: the ranks must say the same words to be merged.
  const double first_ms = session.all_gather(std::vector<double>{ms})[0];
  const std::string text = fmt::format("{} KiB gathered from each of {} ranks in {:.2f} ms",
                                       kValues * static_cast<int64_t>(sizeof(double)) / 1024, session.size(), first_ms);
  if (all_right) return {Level::kOk, "collective", text + ", every value right"};
  return {Level::kFail, "collective", text + ", with wrong values",
          "the network or shared memory between the ranks corrupts data: try OMPI_MCA_btl=self,tcp"};
}

std::string text_of(const std::vector<Shared>& findings, const std::vector<Json>& ranks) {
  std::string text;
  for (const Shared& s : findings) {
    size_t speakers = 0;  // ranks that have something to say about this
    for (const Shared& other : findings) speakers += other.finding.check == s.finding.check ? other.ranks.size() : 0;
    const std::string who = s.ranks.size() < speakers ? fmt::format(" (rank {})", cpu_list(s.ranks)) : "";
    text += fmt::format("{:<5}{}: {}{}\n", level_word(s.finding.level), s.finding.check, s.finding.text, who);
    if (!s.finding.fix.empty()) text += fmt::format("     fix: {}\n", s.finding.fix);
  }
  text += fmt::format("\n{:>4}  {:<24}{:>9}  {}\n", "rank", "host", "process", "cores");
  for (size_t r = 0; r < ranks.size(); ++r) {
    text += fmt::format("{:>4}  {:<24}{:>9}  {}\n", r, ranks[r].find("host")->text, ranks[r].find("pid")->text,
                        ranks[r].find("cpus")->text);
  }
  return text;
}

Json json_of(const std::vector<Shared>& findings, const std::vector<Json>& ranks, bool ok) {
  Json list = Json::array();
  for (const Shared& s : findings) {
    Json members = Json::array();
    for (const int rank : s.ranks) members.push(rank);
    const Finding& f = s.finding;
    list.push(Json::object({{"level", level_word(f.level)},
                            {"check", f.check},
                            {"text", f.text},
                            {"fix", f.fix.empty() ? Json() : Json(f.fix)},
                            {"ranks", std::move(members)}}));
  }
  Json table = Json::array();
  for (size_t r = 0; r < ranks.size(); ++r) {
    table.push(Json::object({{"rank", static_cast<int64_t>(r)},
                             {"host", *ranks[r].find("host")},
                             {"process", *ranks[r].find("pid")},
                             {"cores", *ranks[r].find("cpus")}}));
  }
  return Json::object({{"ok", ok}, {"findings", std::move(list)}, {"ranks", std::move(table)}});
}

}  // namespace

int run_doctor(const Options& options, comm::MpiSession& session) {
  const DoctorOptions& doctor = options.doctor;
  Machine machine = look_at_machine();
  const std::vector<std::string> hosts = session.gather_texts(machine.host);
  machine.local_ranks = std::count(hosts.begin(), hosts.end(), machine.host);
  const bool speaks_for_host = std::find(hosts.begin(), hosts.end(), machine.host) - hosts.begin() == session.rank();
  std::vector<Finding> findings = machine_findings(machine);
  for (Finding& f : build_findings()) findings.push_back(std::move(f));
  if (session.size() > 1) findings.push_back(collective_finding(session));
  if (!speaks_for_host) keep_own(findings);
  if (!doctor.model.empty() && speaks_for_host) {
    for (Finding& f : model_findings(doctor.model, options.run, session.size(), machine))
      findings.push_back(std::move(f));
  }
  std::vector<Json> ranks;
  for (const std::string& text : session.gather_texts(to_json(machine, findings).dump())) {
    ranks.push_back(parse_json(text, "a rank's findings"));
  }
  const std::vector<Shared> merged = merge(ranks);
  bool ok = true;
  for (const Shared& s : merged) ok = ok && s.finding.level != Level::kFail;
  session.funnel([&] {
    if (session.rank() != 0) return;
    const std::string text = doctor.json ? json_of(merged, ranks, ok).dump() + "\n" : text_of(merged, ranks);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
      throw Error(Code::kEnvironment, "cannot write to standard output");
    }
  });
  return ok ? 0 : static_cast<int>(Code::kEnvironment);
}

}  // namespace octet
