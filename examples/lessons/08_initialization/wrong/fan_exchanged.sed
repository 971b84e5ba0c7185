# in and out exchanged.
s/backward ? out : in)/backward ? in : out)/
