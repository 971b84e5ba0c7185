# The size of the axis before in place of the product.
s/step \*= size;/if (size != 1) step = size;/
