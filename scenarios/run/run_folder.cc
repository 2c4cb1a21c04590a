#include "scenarios/run/run_folder.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>

#include "reports/html/page.h"
#include "reports/reports.h"

namespace spillway {

namespace {

std::vector<NamedText> PointTexts(const PointDetail& detail, const std::filesystem::path& folder, bool timelines) {
  std::vector<NamedText> texts;
  for (const Report& report : Reports()) {
    const std::string file = ReportFile(report, detail.row.point);
    if (!timelines && file.starts_with("timelines/")) continue;
    if (report.of_point != nullptr) texts.push_back({file, report.of_point(detail)});
    if (report.in_pieces == nullptr) continue;
    const auto pieces = std::make_shared<FileInPieces>(folder / file);
    report.in_pieces(detail, [&pieces](std::string_view piece) { pieces->Add(piece); });
    texts.push_back({.file = file, .text = "", .pieces = pieces});
  }
  return texts;
}

std::vector<NamedText> RunTexts(const ResultSet& results) {
  std::vector<NamedText> texts;
  for (const Report& report : Reports()) {
    if (report.of_run != nullptr && *report.file != '\0') texts.push_back({report.file, report.of_run(results)});
  }
  return texts;
}

}  // namespace

RunFolder::RunFolder(const std::string& out, const JournalHead& head, Console& console, bool timelines)
    : console_(console),
      timelines_(timelines),
      out_(out),
      folder_(out),
      lock_(out, head.command),
      written_(console, "the run goes on without files, and --resume will make up for them") {
  if (!out.empty()) files_.emplace(out, head);
}

std::vector<JournalEntry> RunFolder::Begin(bool resume, const std::vector<Point>& points) {
  if (!files_) return {};
  if (resume) return files_->Resume(points);
  const std::string cut_off = files_->CutOff();
  if (!cut_off.empty()) {
    console_.err << fmt::format(
        "a run into this folder was cut off after {}: it starts anew; --resume goes on with it\n", cut_off);
  }
  return {};
}

void RunFolder::Add(const Point& point, const PointResult& result, const PreparedRun& run) {
  if (!files_) return;
  written_.Try([&] {
    std::vector<NamedText> texts;
    if (result.row.feasible) {
      const PreparedMachine& on = *run.machines[point.machine];
      texts = PointTexts({result.row, result.step->step, on.machine, result.plan, result.evaluation, *on.costs}, out_,
                         timelines_);
    }
    files_->Add({result.row, result.seconds, {}}, texts);
  });
}

void RunFolder::End(const ResultSet& results, const std::string& run_json) {
  if (!files_) return;
  written_.Try([&] {
    std::vector<NamedText> texts = RunTexts(results);
    texts.push_back({"run.json", run_json, true});
    files_->End(texts, [](const std::filesystem::path& folder) {
      return NamedText{"report.html", ReportPage(folder)};
    });
  });
}

}  // namespace spillway
