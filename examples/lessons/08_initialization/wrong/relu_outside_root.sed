# The 2 stands before the root.
s|sqrt((relu ? 2 : 1) / fan)|(relu ? 2 : 1) * sqrt(1 / fan)|
