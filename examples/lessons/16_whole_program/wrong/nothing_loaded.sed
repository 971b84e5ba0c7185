# Half of TODO 3.
/^bool my_load.*)$/,/^}/s/return .*;/return true;/
