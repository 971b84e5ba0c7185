# The loss is there already.
s/^        my_step(r);/        const double loss = my_step(r);/; s/^        const double loss = my_validate(r);//
