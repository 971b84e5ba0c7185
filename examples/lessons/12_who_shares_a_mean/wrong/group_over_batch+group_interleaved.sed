# Two mistakes at once.
s|n \* groups + c / (C / groups)|c % groups|
