# x as [N, L, C].
s|c = i / L % C|c = i % C|
