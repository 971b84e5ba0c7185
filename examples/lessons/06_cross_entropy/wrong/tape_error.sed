# The operator is not recorded.
s/    return gr_record.*/    return loss;/
