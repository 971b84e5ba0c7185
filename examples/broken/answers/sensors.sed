# exp(89) is infinite in float, and infinity / infinity is NaN. log_softmax subtracts the largest logit first.
/gr_tensor \*const e = /d
/gr_tensor \*const p = /d
s/gr_tensor \*const of_target = .*/gr_tensor *const logp = gr_log_softmax(t, gr_linear_forward(t, fc, x), 1);/
s/gr_log(t, of_target), GR_ALL_AXES, false)/gr_sum(t, gr_mul(t, logp, target), GR_AXES(1), false), GR_ALL_AXES, false)/
