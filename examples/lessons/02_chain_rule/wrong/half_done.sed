# TODO 2 is left.
/^    for (int i = 0; i < n; i++) list/,/^}/{/^}/!d
}
