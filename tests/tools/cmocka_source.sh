#!/bin/sh
# cmocka_source.sh CC AR FOLDER: make FOLDER/libcmocka.a and cmocka.h with a compiler for which no package has cmocka: get the source of Debian's
# package by apt-get, and compile its one file. Exit 1 if this is not possible; FOLDER/log says why.
cc=$1 ar=$2 folder=$3
[ ! -f "$folder/libcmocka.a" ] || exit 0
mkdir -p "$folder" && cd "$folder" || exit 1
exec > log 2>&1
mkdir -p sources lists/partial archives/partial unpacked || exit 1
# shellcheck disable=SC1091
printf 'Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: %s\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" > sources/source.sources
get() { apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$PWD/sources" -o Dir::State::lists="$PWD/lists" -o Dir::Cache="$PWD" "$@"; }
get update && get source --download-only cmocka && tar -xf "$(ls cmocka_*.orig.tar.* | grep -v asc)" -C unpacked --strip-components=1 &&
    sed 's/__printf__/__gnu_printf__/' unpacked/include/cmocka.h > cmocka.h || exit 1 # %zu on Windows, too; the compiler is gcc
# shellcheck disable=SC2086
$cc -O1 -D_GNU_SOURCE -DHAVE_INTTYPES_H -DHAVE_MALLOC_H -DHAVE_SIGNAL_H -DHAVE_SNPRINTF -DHAVE_VSNPRINTF -DHAVE_STRUCT_TIMESPEC \
    -DHAVE_CLOCK_GETTIME -DHAVE_CLOCK_REALTIME -DHAVE_GCC_THREAD_LOCAL_STORAGE -I. -Iunpacked/include -c unpacked/src/cmocka.c -o cmocka.o && $ar rcs libcmocka.a cmocka.o
