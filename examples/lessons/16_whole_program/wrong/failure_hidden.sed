# It has come to the end.
/^bool my_train.*)$/,/^}/s/    return .*/    return true;/
