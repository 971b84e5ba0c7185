# The wrong way round.
/^bool my_load.*)$/,/^}/s/    return \(.*\);/    return !\1;/
