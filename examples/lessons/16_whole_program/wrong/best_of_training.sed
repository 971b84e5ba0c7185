# The loss of the step.
s/^        my_step(r);/        const double loss = my_step(r);/; s/const double loss = my_validate(r)/my_validate(r)/
