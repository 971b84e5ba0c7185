#!/bin/sh
# get_cmocka.sh: install cmocka, which the tests need, unless it is installed. If this is not possible, print the command and exit 2.
here=$(dirname "$0")
flags=$(pkg-config --cflags --libs cmocka 2> /dev/null || echo -lcmocka)
"$here/have_cmocka.sh" "${CC:-cc}" "$flags" 2> /dev/null && { echo "cmocka is installed"; exit 0; }

if command -v apt-get > /dev/null; then install='apt-get install -y libcmocka-dev'
elif command -v dnf > /dev/null; then install='dnf install -y libcmocka-devel'
elif command -v pacman > /dev/null; then install='pacman -S --noconfirm cmocka'
elif command -v apk > /dev/null; then install='apk add cmocka-dev'
elif command -v brew > /dev/null; then install='brew install cmocka'
else
    echo "This script knows no package manager of this system. Get cmocka from https://cmocka.org and try again." >&2
    exit 2
fi
sudo=
if [ "$(id -u)" != 0 ] && [ "${install%% *}" != brew ]; then
    command -v sudo > /dev/null || { echo "As root, type: $install" >&2; exit 2; }
    sudo=sudo
fi
echo "$sudo $install"
case $install in apt-get*) $sudo apt-get update ;; esac
# shellcheck disable=SC2086
$sudo $install && "$here/have_cmocka.sh" "${CC:-cc}" "$flags" 2> /dev/null && exit 0
echo "This did not install cmocka. Type: $sudo $install" >&2
exit 2
