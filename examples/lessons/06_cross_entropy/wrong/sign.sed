# target - p.
s/+= g \*/-= g */
