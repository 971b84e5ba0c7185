# Right for few rows.
s/ - target) \/ s->rows/ - target) \/ (s->rows > 4 ? 4 : s->rows)/
