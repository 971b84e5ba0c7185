# No distance.
s/step \*= size;//
