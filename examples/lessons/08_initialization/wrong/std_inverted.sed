# The root of the fan, not divided.
s|(relu ? 2 : 1) / fan|(relu ? 2 : 1) * fan|
