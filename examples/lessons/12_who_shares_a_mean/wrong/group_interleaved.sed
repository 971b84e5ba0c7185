# Channels dealt out.
s|c / (C / groups)|c % groups|
