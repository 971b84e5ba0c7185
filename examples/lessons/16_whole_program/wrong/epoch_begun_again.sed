# An epoch is the unit.
/^bool my_load.*)$/,/^}/s/    return \(.*\);/    const bool good = \1;\n    r->order->taken -= r->order->taken % (int64_t)r->order->per_epoch;\n    return good;/
