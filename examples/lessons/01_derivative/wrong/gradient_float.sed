# float is enough.
s/const double above = /const float above = (float)/
s/const double below = /const float below = (float)/
