#include "scenarios/output/console.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace spillway {

namespace {

constexpr double kMinute = 60;  // seconds

}  // namespace

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool MovesCursor(const char* term) {
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb" && std::string_view(term) != "unknown";
}

void MinuteLines::Say(const std::string& text) {
  const double now = console_.seconds();
  if (console_.terminal || now - last_ < kMinute) return;
  last_ = now;
  console_.err << fmt::format("{}, after {:.0f} min\n", text, (now - begin_) / kMinute) << std::flush;
}

Progress::Progress(Console& console, std::string what, std::size_t total, std::size_t done)
    : console_(console),
      lines_(console),
      what_(std::move(what)),
      total_(total),
      done_(done),
      before_(done),
      begin_(console.seconds()),
      shown_at_(begin_) {}

// By the pace so far; nothing before it has been a second.
std::string Progress::TimeLeft() const {
  const double took = console_.seconds() - begin_;
  if (took < 1 || done_ == before_ || done_ >= total_) return "";
  const double left = took / static_cast<double>(done_ - before_) * static_cast<double>(total_ - done_);
  return left < 90 ? fmt::format(", about {:.0f} s left", left)
                   : fmt::format(", about {:.0f} min left", left / kMinute);
}

Progress::~Progress() {
  if (shown_) console_.Screen() << "\r\x1b[K" << std::flush;
}

void Progress::Show(const std::string& text) {
  if (!console_.terminal) return;
  console_.Screen() << "\r" << text << "\x1b[K" << std::flush;
  shown_at_ = console_.seconds();
  shown_ = true;
}

void Progress::Step() {
  ++done_;
  const std::string text = fmt::format("{} {}/{}", what_, done_, total_);
  Show(text + TimeLeft());
  lines_.Say(text);
}

void Progress::Wait() {
  if (!console_.terminal || console_.seconds() - shown_at_ < 1) return;
  Show(fmt::format("{} {}/{}, {:.0f} s so far", what_, done_, total_, console_.seconds() - begin_));
}

}  // namespace spillway
