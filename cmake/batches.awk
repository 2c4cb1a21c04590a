# Sorts source files into batches that can be compiled as one:
#
#   awk -v size=8 -f batches.awk SOURCE... -- HEADER...        prints a line "number source" for each source
#
# A batch is one file to the compiler, so what a source defines in a namespace without a name is seen by those behind it.
# Two sources come together only where no such name of the one is defined so by the other too, or is declared by a header
# that the other includes, itself or through others: it would be ambiguous, or hide what was meant. All names are judged
# by the beginnings of lines: what is not indented is defined for the whole file.
BEGIN {
  for (i = 1; i < ARGC; ++i) {
    if (ARGV[i] == "--") {
      sources = i - 1
    } else {
      Read(ARGV[i])
    }
  }
  for (i = 1; i <= sources; ++i) order[i] = ARGV[i]
  for (i = 1; i <= sources; ++i) reach[ARGV[i]] = Reach(ARGV[i])
  for (i = 2; i <= sources; ++i) {
    for (j = i; j > 1 && reach[order[j - 1]] > reach[order[j]]; --j) Swap(j - 1, j)
  }
  for (i = 1; i <= sources; ++i) print Place(order[i]), order[i]
  exit
}
END { exit failed }

function Swap(i, j,    other) {
  other = order[i]
  order[i] = order[j]
  order[j] = other
}

# How far a file sees: first over how many folders, then how many headers. Those that see as far as each other lie in
# batches of their own, so that a header that changes touches few of them.
function Reach(file,    seen, visited, folders, count, header, part) {
  split("", visited)
  split("", folders)
  See(file, seen, visited)
  for (header in visited) {
    ++count
    split(header, part, "/")
    if (!folders[part[1]]++) count += 1000
  }
  return count
}

function Read(file,    status, line, hidden, listing, part, names) {
  while ((status = (getline line < file)) > 0) {
    if (line ~ /^namespace \{/) hidden = 1
    if (line ~ /^\}  \/\/ namespace$/) hidden = 0
    if (line ~ /^#include "/) {
      split(line, part, "\"")
      includes[file] = includes[file] " " part[2]
      continue
    }
    names = line ~ /^[A-Za-z\[]/ ? Defined(line) : ""
    if (line ~ /^enum / && line !~ /^enum class/) listing = 1  # what it lists are names like others
    if (listing) names = names Constants(line)
    if (line ~ /\}/) listing = 0
    if (hidden) own[file] = own[file] names
    if (!hidden && file ~ /\.h$/) declares[file] = declares[file] names
  }
  if (status < 0) {
    print "cannot read " file
    failed = 1
    exit
  }
  close(file)
}

function Constants(line,    names) {
  sub(/\/\/.*/, "", line)
  for (names = ""; match(line, /[^A-Za-z0-9_]k[A-Z][A-Za-z0-9]*/); line = substr(line, RSTART + RLENGTH)) {
    names = names " " substr(line, RSTART + 1, RLENGTH - 1)
  }
  return names
}

# What a line defines, a type, a function or constants, each with a blank before it.
function Defined(line,    part, names) {
  if (line ~ /^(namespace [^=]*\{|template|extern|friend|TEST_CASE|BENCHMARK)/) return ""
  if (line ~ /^(struct|class|enum class|enum|using|namespace) /) {
    sub(/^enum class/, "enum", line)
    split(line, part, /[ :;<]+/)
    return " " part[2]
  }
  if (line ~ /^(const|constexpr|inline const|inline constexpr) /) {  # maybe several
    for (names = ""; match(line, /[ *&]k[A-Z][A-Za-z0-9]*(\[[^\]]*\])*( = |\{)/); line = substr(line, RSTART + RLENGTH)) {
      split(substr(line, RSTART + 1, RLENGTH - 1), part, /[^A-Za-z0-9]/)
      names = names " " part[1]
    }
    if (names != "") return names
  }
  sub(/[=({].*/, "", line)       # what lies before a value or parameters,
  sub(/[ \[].*\]$/, "", line)    # without the length of an array
  sub(/[ ;]+$/, "", line)
  if (line !~ /[ &*]/ || line ~ /::[A-Za-z0-9_]+$/) return ""  # no type before it; a member
  sub(/.*[ &*]/, "", line)
  return " " line
}

# Adds to seen[] what is declared by the headers that a file includes, itself or through others.
function See(file, seen, visited,    i, n, list) {
  if (visited[file]) return
  visited[file] = 1
  n = split(declares[file], list, " ")
  for (i = 1; i <= n; ++i) seen[list[i]] = 1
  n = split(includes[file], list, " ")
  for (i = 1; i <= n; ++i) See(list[i], seen, visited)
}

# The first batch that a file can join; a new one if it can join none.
function Place(file,    batch, i, n, names, seen, visited, name) {
  split("", seen)
  split("", visited)
  See(file, seen, visited)
  n = split(own[file], names, " ")
  for (batch = 1; batch <= batches; ++batch) {
    if (files[batch] < size && !Clash(batch, names, n, seen)) break
  }
  if (batch > batches) batches = batch
  ++files[batch]
  for (i = 1; i <= n; ++i) has[batch, names[i]] = 1
  names_of[batch] = names_of[batch] own[file]
  for (name in seen) sees[batch, name] = 1
  return batch
}

function Clash(batch, names, n, seen,    i, list, count) {
  for (i = 1; i <= n; ++i) {
    if ((batch, names[i]) in has || (batch, names[i]) in sees) return 1
  }
  count = split(names_of[batch], list, " ")
  for (i = 1; i <= count; ++i) {
    if (list[i] in seen) return 1
  }
  return 0
}
