# It will be all right.
/^bool my_save.*)$/,/^}/s/    return \(.*\);/    \1;\n    return true;/
