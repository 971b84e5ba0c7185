# 1/N of the page, for the variance.
s|var += \(.*\) / rows;|var += 1 / rows * \1;|
