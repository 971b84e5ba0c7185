# No db.
s/^ *grad->b += da;//
