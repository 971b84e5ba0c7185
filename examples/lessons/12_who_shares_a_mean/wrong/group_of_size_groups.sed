# groups as the size of a group.
s|c / (C / groups)|c / groups|
