# 1/N of the page, for the variance.
s|var += \(.*\) / N;|var += 1 / N * \1;|
