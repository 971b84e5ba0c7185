# eps beside the root.
s|sqrt(ms + eps)|(sqrt(ms) + eps)|
