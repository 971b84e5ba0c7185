# It is only a number that is printed.
s/, { "best", GR_F64, 1, &r->best }//; s/own, 2/own, 1/
