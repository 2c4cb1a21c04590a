// Machine profiles in a folder of their own.
#ifndef SPILLWAY_TESTS_MODEL_PROFILE_FOLDER_H_
#define SPILLWAY_TESTS_MODEL_PROFILE_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/temporary_folder.h"

namespace spillway {

class ProfileFolder {
 public:
  explicit ProfileFolder(const std::string& test) : files_(test) {
    std::filesystem::create_directory(files_.Path("hw"));
  }
  void Write(const std::string& name, const std::string& text) const { files_.Write("hw/" + name, text); }
  std::string File(const std::string& name) const { return files_.Path("hw/" + name); }
  std::string path() const { return std::filesystem::path(files_.Path("hw")).parent_path().string(); }

 private:
  TemporaryFolder files_;
};

// Shipped profiles are looked for in `path`/hw while this lives.
class Home {
 public:
  explicit Home(const std::string& path) { setenv("SPILLWAY_HOME", path.c_str(), 1); }
  ~Home() { unsetenv("SPILLWAY_HOME"); }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_MODEL_PROFILE_FOLDER_H_
