# backward is not looked at.
s/(backward ? out : in)/in/
