# Nothing is refused.
s/^        if (m != n.*//
