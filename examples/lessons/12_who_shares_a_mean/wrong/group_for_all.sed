# One number.
s/default: return .*/default: return 0;/
