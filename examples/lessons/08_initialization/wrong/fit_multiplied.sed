# The factor is turned round.
s|1 / sqrt(sum|sqrt(sum|
