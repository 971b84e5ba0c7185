# It will be all right.
/^bool my_load.*)$/,/^}/s/    return \(.*\);/    \1;\n    return true;/
