# Nothing fails.
s/ && !gr_failed(r->t)//
