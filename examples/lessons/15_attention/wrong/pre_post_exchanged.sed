# pre for post.
s/if (pre_norm)/if (!pre_norm)/
