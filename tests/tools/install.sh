#!/bin/sh
# install.sh BUILD VERSION LIBS HEADER...: copy the headers, and the libraries of both precisions from BUILD, to $DESTDIR$PREFIX, and print what
# went where. A HEADER in examples/kit is a source to copy into a program: it goes to share/gradus/kit, and includes its neighbours by their names.
# install.sh --remove: remove what install.sh copied there, and nothing else.
#
# Both use the list $PREFIX/share/gradus/installed. Its paths are relative to PREFIX, so that it stays valid when a staged tree (DESTDIR)
# is moved to its place. After a title line it holds:
#     at 1 /stage/usr     $DESTDIR$PREFIX when the list was written, and the number of folders above it that install made
#     d include/gradus    a folder that install made; "d ." is PREFIX
#     f lib/libgradus.a   a file
# The list is written before the first file is copied, so that an interrupted install can be removed as well.
umask 022
export LC_ALL=C
newline='
'
title='gradus: installed files, version 1 of this list'
fail() { printf '%s\n' "$*" >&2; exit 1; }

# of_kind KIND FILE: the paths in the lines of this kind; none if there is no file.
of_kind() { [ ! -f "$2" ] || sed -n "s/^$1 //p" "$2"; }

# A list that make install wrote: no line leads out of PREFIX.
is_a_list() {
    awk -v title="$title" '
        NR == 1 { if ($0 != title) bad = 1; next }
        /^at [0-9][0-9]? \// || $0 == "d ." { next }
        !/^[df] (include|lib|share)(\/|$)/ || /\/\.\.?(\/|$)/ { bad = 1 }
        END { exit bad || NR == 0 }' "$1"
}

remove_folders() { # the folders on stdin, from the innermost out; rmdir leaves alone what is not empty
    sort -r | while read -r folder; do
        if [ "$folder" = . ]; then rmdir "$root"; else rmdir "$root/$folder"; fi
    done 2> /dev/null
}

case ${PREFIX:-} in /*) ;; *) fail "PREFIX must be an absolute path; got '${PREFIX:-}'" ;; esac
case ${DESTDIR:-/} in /*) ;; *) DESTDIR=$PWD/$DESTDIR ;; esac
root=${DESTDIR:-}$PREFIX
list=$root/share/gradus/installed
case $root in *"$newline"*) fail 'PREFIX and DESTDIR cannot hold a newline' ;; esac
for folder in include/gradus share/gradus; do
    [ ! -L "$root/$folder" ] || fail "$root/$folder is a symbolic link, and what it leads to is not ours; nothing was changed"
done
[ ! -e "$list" ] || is_a_list "$list" || fail "$list is not a list that make install wrote; nothing was changed"

if [ "${1:-}" = --remove ]; then
    [ -f "$list" ] || fail "there is no $list, where make install lists what it puts there; nothing was removed"
    of_kind f "$list" | while read -r file; do rm -f "$root/$file" || exit 1; done || fail "not all was removed; the list is still $list"
    echo "removed $(of_kind f "$list" | grep -c '') files from $root"
    at=$(of_kind at "$list") folders=$(of_kind d "$list") path=$root above=0
    if [ "${at#* }" = "$root" ]; then above=${at%% *}
    else folders=$(echo "$folders" | grep gradus); fi # in a tree that was moved, it is unknown who made the others
    rm -f "$list" || exit 1
    echo "$folders" | remove_folders
    while [ "$above" -gt 0 ] && path=$(dirname "$path") && rmdir "$path" 2> /dev/null; do above=$((above - 1)); done
    exit 0
fi

# ---- The list ----

build=$1 version=$2 libs=$3
shift 3
# What the shared library NAME of a version is called, without a version what the linker looks for.
rpath=
case $(uname) in
Darwin) rpath=@rpath/ && shared() { echo "lib$1${2:+.$2}.dylib"; } ;;
*) shared() { echo "lib$1.so${2:+.$2}"; } ;;
esac
place() { # place HEADER: where it goes
    case $1 in examples/kit/*) echo "share/gradus/kit/${1##*/}" ;; *) echo "include/gradus/$1" ;; esac
}
files=$(
    for header; do place "$header"; done
    for name in gradus gradus_double; do
        for file in "lib$name.a" "$(shared $name "$version")" "$(shared $name "${version%.*}")" "$(shared $name)"; do echo "lib/$file"; done
    done
    echo lib/pkgconfig/gradus.pc
    echo lib/pkgconfig/gradus-double.pc
    echo lib/cmake/gradus/gradusConfig.cmake
    echo lib/cmake/gradus/gradusConfigVersion.cmake
)
folders=$({ echo "$files"; echo share/gradus/installed; } | awk -F/ '{ path = ""; for (i = 1; i < NF; i++) print path = path (i > 1 ? "/" : "") $i }' | sort -u)

# Folders that an earlier install made, and those that this one will make.
made=$(
    of_kind d "$list" | while read -r folder; do [ ! -d "$root/$folder" ] || echo "$folder"; done
    for folder in . $folders; do [ -d "$root/$folder" ] || echo "$folder"; done
)
at=$(of_kind at "$list")
path=$root above=${at%% *}
above=${above:-0}
while path=$(dirname "$path") && [ ! -d "$path" ]; do above=$((above + 1)); done

old=$(of_kind f "$list")
write_list() { # write_list FILES: the list, at once
    { echo "$title"; printf 'at %s %s\n' "$above" "$root"; echo "$made" | sort -u | sed -n 's/^./d &/p'; echo "$1" | sort -u | sed -n 's/^./f &/p'; } > "$list.new" &&
        mv -f "$list.new" "$list" || fail "cannot write $list"
}

mkdir -p "$root/share/gradus" || exit 1
write_list "$files$newline$old"

# ---- The files: each is replaced atomically, so that a running program keeps the old library ----

take_place() { # take_place FILE: FILE.new becomes FILE
    if [ -d "$root/$1" ]; then rm -f "$root/$1.new"; fail "$root/$1 is a folder"; fi
    mv -f "$root/$1.new" "$root/$1" || exit 1
}
put() { # put SOURCE FILE
    cp "$1" "$root/$2.new" && chmod 644 "$root/$2.new" || { rm -f "$root/$2.new"; exit 1; }
    take_place "$2"
}
put_link() { # put_link TARGET FILE
    rm -f "$root/$2.new"
    ln -s "$1" "$root/$2.new" && take_place "$2" || exit 1
}
# PREFIX as a pkg-config file needs it within double quotes.
quoted() { printf '%s\n' "$PREFIX" | sed 's/["#]/\\&/g'; }

for folder in $folders; do mkdir -p "$root/$folder" || exit 1; done
for header; do
    case $header in
    examples/kit/*)
        to=$(place "$header")
        sed '/^[ ]*#[ ]*include/s|"examples/kit/|"|' "$header" > "$root/$to.new" || exit 1
        take_place "$to" ;;
    *) put "$header" "$(place "$header")" ;;
    esac
done
for real in float double; do
    name=gradus define=
    [ $real = float ] || name=gradus_double define=' -DGR_REAL_DOUBLE'
    pc=lib/pkgconfig/$(echo $name | tr _ -).pc
    put "$build/$real/lib$name.a" "lib/lib$name.a"
    put "$build/$real/$(shared $name "$version")" "lib/$(shared $name "$version")"
    put_link "$(shared $name "$version")" "lib/$(shared $name "${version%.*}")"
    put_link "$(shared $name "${version%.*}")" "lib/$(shared $name)"
    {
        printf 'prefix=%s\n' "$(quoted)"
        echo "Name: $(basename $pc .pc)"
        echo 'Description: a minimal autograd deep-learning framework'
        echo "Version: $version"
        printf 'Cflags: -I"${prefix}/include/gradus"%s\n' "$define"
        printf 'Libs: -L"${prefix}/lib" -l%s\n' "$name"
        echo "Libs.private: $libs"
    } > "$root/$pc.new" || exit 1
    take_place "$pc"
done

# For find_package(gradus) of CMake. Every path begins at the folder of the file, so that PREFIX may be moved.
cmake=lib/cmake/gradus/gradusConfig
{
    echo '# find_package(gradus) makes gradus::gradus, the shared library, and gradus::static; with gr_real double, gradus::double and gradus::double_static.'
    echo 'get_filename_component(_gradus "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)'
    for real in float double; do
        if [ $real = float ]; then shared=gradus static=static name=gradus
        else shared=double static=double_static name=gradus_double; fi
        printf '\nif(NOT TARGET gradus::%s)\n' $shared
        echo "    add_library(gradus::$shared SHARED IMPORTED)"
        echo "    add_library(gradus::$static STATIC IMPORTED)"
        echo "    set_target_properties(gradus::$shared PROPERTIES IMPORTED_LOCATION \"\${_gradus}/lib/$(shared $name "$version")\""
        echo "        IMPORTED_SONAME $rpath$(shared $name "${version%.*}"))"
        echo "    set_target_properties(gradus::$static PROPERTIES IMPORTED_LOCATION \"\${_gradus}/lib/lib$name.a\" IMPORTED_LINK_INTERFACE_LANGUAGES C"
        echo "        INTERFACE_LINK_LIBRARIES \"$(echo $libs | tr ' ' ';')\")"
        echo "    set_target_properties(gradus::$shared gradus::$static PROPERTIES INTERFACE_INCLUDE_DIRECTORIES \"\${_gradus}/include/gradus\")"
        [ $real = float ] || echo "    set_target_properties(gradus::$shared gradus::$static PROPERTIES INTERFACE_COMPILE_DEFINITIONS GR_REAL_DOUBLE)"
        echo 'endif()'
    done
    printf '\nunset(_gradus)\n'
} > "$root/$cmake.cmake.new" || exit 1
take_place $cmake.cmake
{
    echo "# A program that asks for version a.b or a.b.c gets a.b.c or a later c, as with the name of the shared library."
    echo "set(PACKAGE_VERSION $version)"
    echo 'if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION AND'
    echo "    \"\${PACKAGE_FIND_VERSION_MAJOR}.\${PACKAGE_FIND_VERSION_MINOR}\" VERSION_EQUAL ${version%.*})"
    echo '    set(PACKAGE_VERSION_COMPATIBLE TRUE)'
    echo '    if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)'
    echo '        set(PACKAGE_VERSION_EXACT TRUE)'
    echo '    endif()'
    echo 'endif()'
} > "$root/${cmake}Version.cmake.new" || exit 1
take_place ${cmake}Version.cmake

# Remove what an older version had and this one does not have.
echo "$old" | while read -r file; do
    case "$newline$files$newline" in *"$newline$file$newline"*) ;; *) [ -z "$file" ] || rm -f "$root/$file" ;; esac
done
of_kind d "$list" | while read -r folder; do
    case "$newline.$newline$folders$newline" in *"$newline$folder$newline"*) ;; *) echo "$folder" ;; esac
done | remove_folders
made=$(echo "$made" | while read -r folder; do [ ! -d "$root/$folder" ] || echo "$folder"; done)
write_list "$files"

count() { echo "$files" | grep -c "^$1"; }
echo "installed $(count '') files of gradus $version in $root; make uninstall removes them"
echo "  include/gradus         $(count include/) headers"
echo "  lib                    libgradus and libgradus_double, static and shared"
echo "  lib/pkgconfig          gradus.pc and gradus-double.pc"
echo "  lib/cmake/gradus       for find_package(gradus)"
echo "  share/gradus/kit       $(count share/gradus/kit/) sources to copy: readers of data files, flags, progress, a log"
echo "  share/gradus/installed the list of these files"
case $PREFIX in
*[\$\\\`\(\)]*) echo "pkg-config gives no usable flags for a PREFIX with one of \$ \\ \` ( ): write -I$PREFIX/include/gradus and -L$PREFIX/lib yourself" >&2 ;;
esac
exit 0
