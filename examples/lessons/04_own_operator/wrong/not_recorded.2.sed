# No backward in the descriptor.
s/, .backward = my_backward//
