# Weight decay pulls the gains of the norms to 0, too. Without decay_all, gradus exempts norms and biases.
s/, .decay_all = true//
