#!/bin/sh
# archive.sh PARENT FOLDER: PARENT/FOLDER as one file, PARENT/FOLDER.tar.gz, the same bytes for the same files, and says its
# size.
set -eu
cd "$1"
rm -f "$2.tar.gz"
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - "$2" | gzip -9n >"$2.part"
mv "$2.part" "$2.tar.gz"
echo "archive: $1/$2.tar.gz, $(du -k "$2.tar.gz" | cut -f1) KiB"
